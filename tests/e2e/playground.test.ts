import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe.runIf(hasChromium)("the playground", { timeout: 60_000 }, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal?.close());

  const answered = async (page: Page, surface: string): Promise<Json> => {
    const link = page.getByRole("link", { name: /^(chatcmpl|msg|resp|req|dec)[-_]/ });
    const id = await link.textContent();
    expect(await link.getAttribute("href")).toBe(`/app/w/demo/requests/${id}`);
    await page
      .getByText(/^€0|^€[1-9]/)
      .first()
      .waitFor();
    const row = await portal.gateway.manage("GET", `/requests/${id}`);
    expect(row).toMatchObject({ status: 200, surface, app: "Playground", key_name: "Playground", environment: "test" });
    return row;
  };

  test("PORTAL-09 a conversation is streamed with a key made for an hour, and says what served it", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("playground?temperature=0.3&model=sandbox%2Fchat"));
    expect(await page.getByLabel("Temperature").inputValue()).toBe("0.3");
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Prompt", { exact: true }).fill("Good morning, sandbox!");
    await page.getByRole("button", { name: "Send" }).click();
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText(/simulated by sandbox-/).waitFor();
    await page.getByText("What served it").waitFor();
    const row = await answered(page, "chat");
    expect(row.streaming).toBe(true);
    await page.getByText(/events as they came/).waitFor();
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys");
    const made = data.find(({ name }: Json) => name === "Playground");
    const lifeMs = Date.parse(made.expires_at) - Date.parse(made.created_at);
    expect(lifeMs).toBeGreaterThan(55 * 60_000);
    expect(lifeMs).toBeLessThanOrEqual(61 * 60_000);
    // The next message goes on from there, with the same key.
    await page.getByLabel("Next message").fill("And again?");
    await page.getByRole("button", { name: "Send" }).click();
    await log.getByText("And again?").first().waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(
      (await portal.gateway.manage("GET", "/workspaces/demo/keys")).data.filter(
        ({ name }: Json) => name === "Playground",
      ),
    ).toHaveLength(1);
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "playground");
    // Nothing that was written is in the address, and the key is in this tab's memory only.
    expect(page.url()).not.toContain("morning");
    const stored = await page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
    expect(stored).not.toContain("sk_svc_");
    await expectAccessible(page);
  });

  test("PORTAL-09 tools, a schema and a picture go with the request; what is wrong stands at its field", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("playground?surface=messages&model=sandbox%2Fclaude"));
    await page.getByLabel("Prompt", { exact: true }).fill("Look at this");
    await page.getByText("Tools and JSON schema").click();
    await page.getByLabel("Tools").fill("[{");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("The tools must be JSON").waitFor();
    await page.getByRole("button", { name: "Insert an example tool" }).click();
    await page
      .locator('input[type="file"]')
      .setInputFiles({ name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") });
    await page.getByText("dot.png").waitFor();
    await page.getByRole("button", { name: "Code" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText('"$GATEWAY_KEY"').or(dialog.getByText("$GATEWAY_KEY")).first().waitFor();
    await dialog.getByRole("tab", { name: "TypeScript" }).click();
    await dialog.getByText("@anthropic-ai/sdk").waitFor();
    await dialog.getByText('readFileSync("dot.png", "base64")').waitFor();
    await dialog.getByRole("tab", { name: "Python" }).click();
    await dialog.getByText("from anthropic import Anthropic").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("What served it").waitFor();
    await answered(page, "messages");
  });

  test("PORTAL-09 responses, embeddings, decisions, speech and transcription", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("playground?surface=responses&model=sandbox%2Fchat&stream=0"));
    await page.getByLabel("Prompt", { exact: true }).fill("Hello responses");
    await page.getByRole("button", { name: "Send" }).click();
    await answered(page, "responses");

    await page.getByRole("tab", { name: "Embeddings" }).click();
    await page.getByLabel("Texts").fill("a house\na cottage");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("How alike they are").waitFor();
    await answered(page, "embeddings");

    await page.getByRole("tab", { name: "Decisions" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText(/yes with \d+\s?%/).waitFor();
    await answered(page, "decisions");
    await screenshot(page, "playground-decisions");

    await page.getByRole("tab", { name: "Speech" }).click();
    await page.getByLabel("Format").selectOption("wav");
    await page.getByLabel("Text to speak").fill("Good morning");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByLabel("The speech").waitFor();
    await answered(page, "speech");
    const seconds = () => page.locator("audio").evaluate((audio) => Number(Reflect.get(audio, "duration")));
    await expect.poll(seconds, { timeout: 15_000 }).toBeGreaterThan(0);

    await page.getByRole("tab", { name: "Transcription" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Choose an audio file first").waitFor();
    const spoken = await portal.gateway.tenant().then(async ({ key }) => {
      const response = await fetch(`${portal.origin}/v1/audio/speech`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sandbox/speak", input: "Good morning", voice: "ada", response_format: "wav" }),
      });
      return Buffer.from(await response.arrayBuffer());
    });
    await page.getByLabel("Audio file").setInputFiles({ name: "hello.wav", mimeType: "audio/wav", buffer: spoken });
    await page.getByRole("button", { name: "Send" }).click();
    await answered(page, "transcriptions");
    await expectAccessible(page);
  });

  test("PORTAL-09 a plain member gets a personal key where that is allowed, and a clear sentence otherwise", async () => {
    const page = await portal.page("member");
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: false });
    await page.goto(portal.at("playground?model=sandbox%2Fchat"));
    await page.getByText("members have no keys of their own").waitFor();
    expect(await page.getByRole("button", { name: "Send" }).isDisabled()).toBe(true);
    // A key that is pasted is used instead.
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", {
      name: "given",
      environment: "test",
    });
    await page.getByLabel("Use a key of yours").fill(key);
    await page.getByLabel("Prompt", { exact: true }).fill("With my key");
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("log")
      .getByText(/simulated by/)
      .waitFor();
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true });
    await page.reload();
    await page.getByLabel("Prompt", { exact: true }).fill("With a key of my own");
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("log")
      .getByText(/simulated by/)
      .waitFor();
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys");
    expect(data.find(({ kind, name }: Json) => kind === "personal" && name === "Playground")).toMatchObject({
      member: "member@example.eu",
    });
  });

  test("PORTAL-09 an answer is shown as it comes and can be stopped, and its cost is told all the same", async () => {
    // A busy machine may look before the request is in the log.
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at("playground?model=sandbox%2Fslow"));
    await page.getByLabel("Prompt", { exact: true }).fill("word ".repeat(200));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Writing", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("stopped", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    const said = await page.getByRole("log").textContent();
    expect(said).toContain("simulated");
    expect(said?.match(/word/g)?.length).toBeLessThan(400);
    await page.getByText("not told yet").waitFor({ state: "detached" });
  });

  test("PORTAL-09 an error of the gateway is shown with its words and its id", async () => {
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at("playground?model=nobody%2Fnothing"));
    await page.getByLabel("Prompt", { exact: true }).fill("Hello");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("model_not_found").waitFor();
  });
});

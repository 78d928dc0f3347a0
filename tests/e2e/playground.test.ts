import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/** The log of a busy machine may be behind when the page asks what an answer cost: it asks again. */
const BEHIND = { allow: [/status of 503 .*\/v1\/requests\//] };

describe.runIf(hasChromium)("the playground", () => {
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
    const served = page.getByRole("definition");
    // Cost and tokens are recorded after the response.
    await expect.poll(() => served.getByTitle(`${row.cost} EUR`).count()).toBe(1);
    const shownText = await served.allTextContents();
    expect(shownText).toEqual(expect.arrayContaining([row.provider, row.model]));
    expect(shownText.some((text) => text.startsWith(row.level))).toBe(true);
    expect(shownText.join(" ")).toContain(row.countries[0]);
    for (const [name, unit] of [
      ["input_tokens", "in"],
      ["output_tokens", "out"],
    ])
      if (row.usage[name ?? ""] > 0) expect(shownText.join(" ")).toContain(`${row.usage[name ?? ""]} ${unit}`);
    return row;
  };
  /** Sends what is written, and says with which body. */
  const sent = async (page: Page, path: string): Promise<Json> => {
    const request = page.waitForRequest((one) => new URL(one.url()).pathname === `/v1/${path}`);
    await page.getByRole("button", { name: "Send" }).click();
    const text = (await request).postData() ?? "";
    return text.startsWith("{") ? JSON.parse(text) : text;
  };

  test("PORTAL-09 a conversation is streamed with a key made for an hour, and says what served it", async () => {
    const page = await portal.page("operator", BEHIND);
    await page.goto(portal.at("playground?temperature=0.3&model=sandbox%2Fchat"));
    expect(await page.getByLabel("Temperature").inputValue()).toBe("0.3");
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Prompt", { exact: true }).fill("Good morning, sandbox!");
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "Good morning, sandbox!" },
    ];
    const settings = { stream: true, stream_options: { include_usage: true } };
    const chat = { model: "sandbox/chat", messages: messages, temperature: 0.3, ...settings };
    expect(await sent(page, "chat/completions")).toEqual(chat);
    const log = page.getByRole("log", { name: "Conversation" });
    await log.getByText(/simulated by sandbox-/).waitFor();
    await page.getByRole("heading", { name: "Receipt" }).waitFor();
    const row = await answered(page, "chat");
    expect(row.streaming).toBe(true);
    await page.getByText(/Raw response \(/).waitFor();
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys?purpose=playground");
    const made = data.find(({ name }: Json) => name === "Playground");
    const lifeMs = Date.parse(made.expires_at) - Date.parse(made.created_at);
    expect(lifeMs).toBeGreaterThan(55 * 60_000);
    expect(lifeMs).toBeLessThanOrEqual(61 * 60_000);
    // The next message goes on from there, with the same key.
    await page.getByLabel("Next message").fill("And again?");
    const shownText = { role: "assistant", content: expect.stringContaining("simulated by sandbox-") };
    const again = { role: "user", content: "And again?" };
    expect((await sent(page, "chat/completions")).messages).toEqual([...messages, shownText, again]);
    await log.getByText("And again?").first().waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    expect(
      (await portal.gateway.manage("GET", "/workspaces/demo/keys?purpose=playground")).data.filter(
        ({ environment }: Json) => environment === "test",
      ),
    ).toHaveLength(1);
    await page.evaluate("scrollTo(0, 0)");
    await screenshot(page, "playground");
    // Nothing that was written is in the address, and the key is in this tab's memory only.
    expect(page.url()).not.toContain("morning");
    const stored = await page.evaluate(() =>
      JSON.stringify([...Object.entries(localStorage), ...Object.entries(sessionStorage)]),
    );
    expect(stored).not.toContain("sk_svc_");
    await expectAccessible(page);
  });

  test("PORTAL-09 tools, a schema and a picture go with the request; what is wrong stands at its field", async () => {
    const page = await portal.page("operator", BEHIND);
    await page.goto(portal.at("playground?surface=messages&model=sandbox%2Fclaude"));
    await page.getByLabel("Prompt", { exact: true }).fill("Look at this");
    await page.getByText("Tools and JSON schema").click();
    await page.getByLabel("Tools").fill("[{");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Tools must be valid JSON").waitFor();
    await page.getByRole("button", { name: "Insert example tool" }).click();
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
    expect(await sent(page, "messages")).toEqual({
      ...{ model: "sandbox/claude", max_tokens: 1024, stream: true },
      messages: [
        {
          role: "user",
          content: [
            { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } },
            { type: "text", text: "Look at this" },
          ],
        },
      ],
      tools: [expect.objectContaining({ name: "get_weather", input_schema: expect.objectContaining({}) })],
    });
    await page.getByRole("heading", { name: "Receipt" }).waitFor();
    await answered(page, "messages");
  });

  test("PORTAL-09 responses, embeddings, decisions, speech and transcription", async () => {
    const page = await portal.page("operator", BEHIND);
    const settings = "max_tokens=60&top_p=0.9&effort=low";
    await page.goto(portal.at(`playground?surface=responses&model=sandbox%2Fchat&stream=0&${settings}`));
    await page.getByLabel("Prompt", { exact: true }).fill("Hello responses");
    await page.getByText("Tools and JSON schema").click();
    await page.getByRole("button", { name: "Insert example schema" }).click();
    expect(await sent(page, "responses")).toEqual({
      ...{ model: "sandbox/chat", input: "Hello responses", max_output_tokens: 60, top_p: 0.9, store: false },
      reasoning: { effort: "low" },
      text: { format: expect.objectContaining({ type: "json_schema", strict: true }) },
    });
    await answered(page, "responses");

    await page.getByRole("tab", { name: "Embeddings" }).click();
    await page.getByLabel("Texts").fill("a house\na cottage");
    await page.getByLabel("Dimensions").fill("64");
    const embeddings = await sent(page, "embeddings");
    expect(embeddings).toEqual({ model: embeddings.model, input: ["a house", "a cottage"], dimensions: 64 });
    await page.getByText("Cosine similarity").waitFor();
    const alike = (await page.getByRole("table").last().locator("tbody td").allTextContents()).map(Number);
    expect([alike[0], alike[1], alike[3]]).toEqual([1, alike[2], 1]);
    expect(alike[1]).toBeLessThan(1);
    await answered(page, "embeddings");

    await page.getByRole("tab", { name: "Decisions" }).click();
    const { state, questions } = await sent(page, "decisions");
    expect([state, Object.keys(questions)]).toEqual([
      expect.stringContaining("My October invoice"),
      ["urgent", "queue", "mood"],
    ]);
    await page.getByText(/Probability of yes: \d+\s?%/).waitFor();
    await answered(page, "decisions");
    await screenshot(page, "playground-decisions");

    await page.getByRole("tab", { name: "Speech" }).click();
    await page.getByLabel("Format").selectOption("wav");
    await page.getByLabel("Text to speak").fill("Good morning");
    await page.getByLabel("Speed").fill("1.5");
    await page.getByLabel("Instructions").fill("Calm");
    const speech = await sent(page, "audio/speech");
    expect(speech).toEqual({
      ...{ model: speech.model, voice: speech.voice, input: "Good morning", response_format: "wav" },
      ...{ speed: 1.5, instructions: "Calm" },
    });
    await page.getByLabel("Generated speech").waitFor();
    await answered(page, "speech");
    const seconds = () => page.locator("audio").evaluate((audio) => Number(Reflect.get(audio, "duration")));
    await expect.poll(seconds, { timeout: 15_000 }).toBeGreaterThan(0);

    await page.getByRole("tab", { name: "Transcription" }).click();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Select an audio file").waitFor();
    const spoken = await portal.gateway.tenant().then(async ({ key }) => {
      const response = await fetch(`${portal.origin}/v1/audio/speech`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "sandbox/speak", input: "Good morning", voice: "ada", response_format: "wav" }),
      });
      return Buffer.from(await response.arrayBuffer());
    });
    await page.getByLabel("Audio file").setInputFiles({ name: "hello.wav", mimeType: "audio/wav", buffer: spoken });
    await page.getByLabel("Language").fill("en");
    await page.getByRole("textbox", { name: "Prompt" }).fill("morning");
    // A form with a file is not shown to who watches requests.
    await page.evaluate(
      `{ const send = fetch; window.fetch = (to, how) => { if (how?.body instanceof FormData) window.sentForm = how.body; return send(to, how); } }`,
    );
    await sent(page, "audio/transcriptions");
    const form = await page.evaluate("[...window.sentForm].map(([name, value]) => [name, value.name ?? value])");
    expect(form).toEqual([
      ["file", "hello.wav"],
      ["model", expect.stringContaining("sandbox/")],
      ["response_format", "json"],
      ["language", "en"],
      ["prompt", "morning"],
    ]);
    await answered(page, "transcriptions");
    await expectAccessible(page);
  });

  test("PORTAL-09 a plain member needs no personal key, and can use a pasted one", async () => {
    const page = await portal.page("member");
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: false });
    await page.goto(portal.at("playground?model=sandbox%2Fchat"));
    await page.getByText(/^Key: playground/).click();
    // A key that is pasted is used instead.
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", {
      name: "given",
      environment: "test",
    });
    await page.getByLabel("Use your own key").fill(key);
    await page.getByLabel("Prompt", { exact: true }).fill("With my key");
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("log")
      .getByText(/simulated by/)
      .waitFor();
    await page.reload();
    await page.getByLabel("Prompt", { exact: true }).fill("With a key of my own");
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("log")
      .getByText(/simulated by/)
      .waitFor();
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys?purpose=playground");
    expect(data.find(({ kind }: Json) => kind === "personal")).toMatchObject({ name: "Playground" });
    // Recorded once the stream has ended.
    await expect
      .poll(async () => (await portal.gateway.manage("GET", "/workspaces/demo/requests?limit=1")).data)
      .toMatchObject([{ member: "member@example.eu", key_name: "Playground" }]);
  });

  test("PORTAL-09 a response streams, can be stopped, and its cost is shown", async () => {
    // A busy machine may look before the request is in the log.
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at("playground?model=sandbox%2Fslow"));
    await page.getByLabel("Prompt", { exact: true }).fill("word ".repeat(200));
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByText("Streaming", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Stop" }).click();
    await page.getByText("Stopped", { exact: true }).waitFor();
    await page.getByRole("button", { name: "Send" }).waitFor();
    const shownText = await page.getByRole("log").textContent();
    expect(shownText).toContain("simulated");
    expect(shownText?.match(/word/g)?.length).toBeLessThan(400);
    await page.getByText("Pending").waitFor({ state: "detached" });
  });

  test("PORTAL-09 an error of the gateway is shown with its words and its id", async () => {
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at("playground?model=unknown%2Fnothing"));
    await page.getByLabel("Prompt", { exact: true }).fill("Hello");
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("alert").getByText("model_not_found").waitFor();
  });
});

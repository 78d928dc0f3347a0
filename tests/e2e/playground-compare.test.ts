import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** The log of a busy machine may be behind when the page fetches the cost of a response; it retries. */
const BEHIND = [/status of (503|404) .*\/v1\/requests\//];

describe.runIf(hasChromium)("comparing models in the playground", { timeout: 90_000 }, () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal?.close());

  const columnOf = (page: Page, model: string): Locator =>
    page.getByRole("region", { name: `Response of ${model}`, exact: true });
  const receiptOf = async (page: Page, model: string): Promise<string> => {
    const column = columnOf(page, model);
    await column.getByRole("heading", { name: "Receipt" }).waitFor();
    await column.getByText("Pending", { exact: true }).waitFor({ state: "detached" });
    return (await column.locator("dl").allInnerTexts()).join(" ").replace(/\s+/g, " ");
  };
  const bodiesOf = (page: Page, path: string): Json[] => {
    const bodies: Json[] = [];
    page.on("request", (one) => {
      if (new URL(one.url()).pathname === path) bodies.push(JSON.parse(one.postData() ?? "{}"));
    });
    return bodies;
  };

  test("PORTAL-22 two models stream side by side with a receipt each; a third one fails alone", async () => {
    const page = await portal.page("operator", { allow: [...BEHIND, /status of 5\d\d/] });
    const bodies = bodiesOf(page, "/v1/chat/completions");
    await page.goto(portal.at("playground?model=sandbox%2Fchat"));
    await page.getByRole("button", { name: "Compare models" }).click();
    const second = page.getByRole("combobox", { name: "Model 2" });
    await second.click();
    await page.getByRole("dialog").getByRole("combobox").fill("sandbox L2");
    const option = page.getByRole("option").filter({ hasText: "sandbox/claude" });
    const described = (await option.textContent()) ?? "";
    for (const part of ["L2", "DE", "€0.", "context"]) expect(described).toContain(part);
    await screenshot(page, "playground-picker");
    await page.keyboard.press("Escape");
    await pick(second, "sandbox/claude");
    await expect.poll(() => new URL(page.url()).searchParams.get("model")).toBe("sandbox/chat,sandbox/claude");
    await page.goto(portal.at("playground?model=sandbox%2Fchat,sandbox%2Fclaude,sandbox%2Ffail-500"));
    await page.getByLabel("Prompt", { exact: true }).fill("Compare these");
    await page.getByLabel("Seed").fill("");
    await page.getByLabel("Max output tokens").fill("200");
    await page.getByRole("button", { name: "Send" }).click();
    for (const model of ["sandbox/chat", "sandbox/claude"]) {
      await columnOf(page, model)
        .getByText(/simulated by sandbox-/)
        .waitFor();
      const receipt = await receiptOf(page, model);
      for (const part of [
        /Country (US|DE|FR)/,
        /Level .*L\d/,
        /Cost €0\.0/,
        /Tokens \d+ in/,
        /TTFB \d/,
        /Tokens\/s \d/,
      ])
        expect(receipt).toMatch(part);
    }
    const failed = columnOf(page, "sandbox/fail-500");
    const alert = failed.getByRole("alert");
    await alert.waitFor();
    const code = alert.getByRole("link").first();
    expect(await code.getAttribute("href")).toBe(`/docs/guides/errors#${await code.textContent()}`);
    expect((await alert.textContent())?.length).toBeGreaterThan(20);
    await failed.getByRole("button", { name: "Retry" }).waitFor();
    expect(bodies.map(({ model }) => model).toSorted()).toEqual(["sandbox/chat", "sandbox/claude", "sandbox/fail-500"]);
    expect(new Set(bodies.map(({ model: _, ...rest }) => JSON.stringify(rest))).size).toBe(1);
    await expectAccessible(page);
    await columnOf(page, "sandbox/chat").evaluate((column) => column.scrollIntoView({ block: "start" }));
    await screenshot(page, "playground-compare");

    // Columns are below each other on a phone, and nothing is wider than the page.
    await page.setViewportSize({ width: 390, height: 844 });
    const above = await columnOf(page, "sandbox/chat").boundingBox();
    const below = await columnOf(page, "sandbox/claude").boundingBox();
    expect(above?.x).toBe(below?.x);
    expect(below?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0) - 1);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await expectAccessible(page);
  });

  test("PORTAL-22 stopping ends every stream", async () => {
    const page = await portal.page("operator", { allow: BEHIND });
    await page.goto(portal.at("playground?model=sandbox%2Fslow,sandbox%2Fslow"));
    await page.getByLabel("Prompt", { exact: true }).fill("word ".repeat(100));
    await page.getByRole("button", { name: "Send" }).click();
    await expect.poll(() => page.getByText("Streaming", { exact: true }).count(), { timeout: 20_000 }).toBe(2);
    await page.getByRole("button", { name: "Stop all" }).click();
    await expect.poll(() => page.getByText("Stopped", { exact: true }).count()).toBe(2);
    await page.getByRole("button", { name: "Send" }).waitFor();
  });

  test("PORTAL-22 a saved prompt and the history are restored after a reload and can be cleared", async () => {
    const page = await portal.page("operator", { allow: BEHIND });
    await page.goto(portal.at("playground?model=sandbox%2Fchat,sandbox%2Fchat-mini&temperature=0.4"));
    await page.getByLabel("System prompt").fill("Be brief.");
    await page.getByLabel("Prompt", { exact: true }).fill("Remember this");
    await page.getByRole("button", { name: "Save prompt" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("My comparison");
    await page.getByRole("dialog").getByRole("button", { name: "Save" }).click();
    await page.getByText("Prompt saved in this browser").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await receiptOf(page, "sandbox/chat-mini");

    await page.goto(portal.at("playground"));
    await page.getByRole("button", { name: "Prompts" }).click();
    const drawer = page.getByRole("dialog");
    await drawer.getByText("Stored in this browser only").waitFor();
    await drawer.getByRole("region", { name: "History" }).getByText("Remember this").waitFor();
    await expectAccessible(page);
    await screenshot(page, "playground-prompts");
    await drawer.getByText("My comparison").click();
    expect(await page.getByLabel("Prompt", { exact: true }).inputValue()).toBe("Remember this");
    expect(await page.getByLabel("System prompt").inputValue()).toBe("Be brief.");
    await expect.poll(() => page.getByLabel("Temperature").inputValue()).toBe("0.4");
    await page.getByRole("combobox", { name: "Model 2" }).getByText("sandbox/chat-mini").waitFor();

    await page.getByRole("button", { name: "Prompts" }).click();
    await drawer.getByRole("button", { name: "Clear history" }).click();
    await drawer.getByText("No history").waitFor();
    await drawer.getByRole("button", { name: "Delete My comparison" }).click();
    await drawer.getByText("No saved prompts").waitFor();
    const stored = await page.evaluate(() => JSON.stringify(Object.entries(localStorage)));
    expect(stored).not.toContain("Remember this");
  });

  test("PORTAL-22 tools, schema, image and parameters are sent as written; the code is the same request", async () => {
    const page = await portal.page("operator", { allow: BEHIND });
    const bodies = bodiesOf(page, "/v1/chat/completions");
    await page.goto(portal.at("playground?model=sandbox%2Fchat&stream=0"));
    await page.getByLabel("Prompt", { exact: true }).fill("Look at this");
    await page.getByLabel("Seed").fill("7");
    await page.getByLabel("Stop sequences").fill("END");
    await page.getByText("Tools and JSON schema").click();
    await page.getByRole("button", { name: "Insert example tool" }).click();
    await page.getByRole("button", { name: "Insert example schema" }).click();
    const files = [
      { name: "dot.png", mimeType: "image/png", buffer: Buffer.from(PIXEL, "base64") },
      { name: "notes.md", mimeType: "text/markdown", buffer: Buffer.from("Buy milk\n") },
    ];
    await page.locator('input[type="file"]').setInputFiles(files);
    await page.getByText("dot.png").waitFor();
    await page.getByRole("button", { name: "Send" }).click();
    await page.getByRole("heading", { name: "Receipt" }).waitFor();
    const text = "Look at this\n\nnotes.md:\n```\nBuy milk\n```";
    expect(bodies).toEqual([
      {
        ...{ model: "sandbox/chat", seed: 7, stop: ["END"] },
        messages: [
          {
            role: "user",
            content: [
              { type: "text", text },
              { type: "image_url", image_url: { url: `data:image/png;base64,${PIXEL}` } },
            ],
          },
        ],
        tools: [{ type: "function", function: expect.objectContaining({ name: "get_weather" }) }],
        response_format: { type: "json_schema", json_schema: expect.objectContaining({ strict: true }) },
      },
    ]);
    // The form is empty after the response: the code is that of the request that was sent.
    await page.getByRole("button", { name: "Code" }).click();
    await page.getByRole("tab", { name: "curl" }).click();
    const shown = await page.getByRole("dialog").locator("pre").textContent();
    const json = /<<JSON\n([\s\S]*)\nJSON/.exec(shown ?? "")?.[1] ?? "";
    const unescaped = json.replace("$(base64 -w0 < 'dot.png')", PIXEL).replace(/\\([\\$`])/g, "$1");
    expect(JSON.parse(unescaped)).toEqual(bodies[0]);
  });
});

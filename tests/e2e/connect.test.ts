import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.runIf(hasChromium)("connect pages", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal?.close());

  const asks = (key: string, userAgent: string, model = "sandbox/chat") =>
    portal.gateway.call(key, "/v1/chat/completions", {
      body: { model, messages: [{ role: "user", content: "Hello" }] },
      headers: { "user-agent": userAgent },
    });

  test("PORTAL-09 a client is chosen, gets a key and its lines, and the page turns green with its first request", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("connect"));
    await page.getByText(`${portal.origin}/v1`).waitFor();
    await screenshot(page, "connect");
    await expectAccessible(page);
    await page.getByRole("link", { name: "Claude Code" }).click();
    await page.getByRole("heading", { level: 1, name: "Claude Code" }).waitFor();
    await page.getByText(`"ANTHROPIC_BASE_URL": "${portal.origin}"`).waitFor();
    await page.getByLabel("Model").fill("sandbox/claude");
    await page.getByText('"ANTHROPIC_MODEL": "sandbox/claude"').waitFor();
    expect(new URL(page.url()).searchParams.get("model")).toBe("sandbox/claude");
    await page.getByRole("button", { name: "Create key for Claude Code" }).click();
    const key = (await page.locator('[data-secret="Key for Claude Code"]').textContent()) ?? "";
    expect(key).toMatch(/^sk_svc_live_/);
    await page.getByText(`"ANTHROPIC_AUTH_TOKEN": "${key}"`).waitFor();
    const check = page.getByRole("status", { name: "Live check" });
    await check.getByText("Waiting for a request from Claude Code").waitFor();
    await portal.gateway.manage("POST", "/workspaces/demo/wallet/credits", { amount: "5" });
    // Requests of other clients don't count.
    await asks(key, "OpenAI/JS 7.53.0");
    await check.getByText("OpenAI SDK for JavaScript").waitFor();
    await asks(key, "claude-cli/2.1.325 (external, cli)");
    await check.getByText("Claude Code is connected").waitFor();
    await check.getByText(/^Served by sandbox-/).waitFor();
    await screenshot(page, "connect-claude-code");
    await expectAccessible(page);
    await check.getByRole("link", { name: "View request" }).click();
    await page.waitForURL(/requests\/chatcmpl-/);
  });

  test("PORTAL-09 a request that is refused says why; a client without a name counts by any request", async () => {
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "x", environment: "test" });
    const page = await portal.page("operator", { viewport: { width: 380, height: 800 } });
    await page.goto(portal.at("connect/n8n"));
    const check = page.getByRole("status", { name: "Live check" });
    await check.getByText("any new request counts").waitFor();
    await page.waitForTimeout(500);
    await asks(key, "axios/1.0", "unknown/nothing");
    await check.getByText("was rejected (404)").waitFor();
    await check.getByText("model_not_found").waitFor();
    const member = await portal.page("member");
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true });
    await member.goto(portal.at("connect/n8n"));
    await member.getByRole("button", { name: "Create key for n8n" }).click();
    await member.locator('[data-secret="Key for n8n"]').waitFor();
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys");
    expect(data.find(({ name }: Json) => name === "n8n")).toMatchObject({
      kind: "personal",
      member: "member@example.eu",
    });
    await page.goto(portal.at("connect/emacs"));
    await page.getByText("Client not found").waitFor();
  });
});

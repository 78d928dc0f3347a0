import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };

/** Asked again until it is so: a busy machine takes its time. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read);

describe.skipIf(!hasChromium)("home", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal.close());

  test("PORTAL-09 the guide makes a key, fills it into the snippet, and turns green when the first call arrives", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
    await page.getByText("The sandbox is active").waitFor();
    await page.getByText("Waiting for the first request").waitFor();
    await expectAccessible(page);
    await page.getByRole("button", { name: "Create key" }).click();
    const secret = (await page.locator("[data-secret]").textContent()) ?? "";
    const snippet = page.getByRole("tabpanel").locator("code");
    for (const client of [
      "curl",
      "OpenAI SDK, TypeScript",
      "OpenAI SDK, Python",
      "Anthropic SDK",
      "Claude Code",
      "Codex",
    ]) {
      await page.getByRole("tab", { name: client, exact: true }).click();
      const text = (await snippet.textContent()) ?? "";
      expect(text).toContain(secret);
      expect(text).toContain(portal.origin);
      expect(text).toContain("sandbox/chat");
    }
    await screenshot(page, "home-guide");
    await page.getByRole("tab", { name: "curl" }).click();
    const curl = (await snippet.textContent()) ?? "";
    const sent = JSON.parse(/-d '(.*)'$/s.exec(curl)?.[1] ?? "");
    expect((await portal.gateway.call(secret, "/v1/chat/completions", { body: sent })).status).toBe(200);
    await page.getByText("First request received").waitFor();
    await screenshot(page, "home-green");
    await page.getByRole("link", { name: "View request" }).click();
    await eventually(() => page.url()).toContain("/requests/");
  });

  test("PORTAL-09 the guide of a workspace without credit says so before the first request is refused", async () => {
    await portal.gateway.manage("POST", "/workspaces", { slug: "empty" });
    const page = await portal.page("operator", { viewport: { width: 390, height: 844 } });
    await page.goto(portal.at("", "empty"));
    const empty = page.getByText("The wallet is empty");
    await empty.waitFor();
    await page.getByText("are rejected with 402").waitFor();
    await portal.gateway.manage("POST", "/workspaces/empty/wallet/credits", { amount: "5" });
    await page.reload();
    await page.getByText("Waiting for the first request").waitFor();
    await eventually(() => empty.count()).toBe(0);
  });

  test("PORTAL-09 home then shows the overview and what needs attention", async () => {
    const { gateway } = portal;
    await gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true, approval: true });
    const { email } = await portal.person("member");
    await gateway.manage("POST", "/workspaces/demo/keys", { name: "laptop", member: email });
    const soon = new Date(Date.now() + 3 * 86_400_000).toISOString();
    const made = await gateway.manage("POST", "/workspaces/demo/keys", { name: "nightly", expires_at: soon });
    for (let count = 0; count < 3; count += 1)
      expect((await gateway.call(made.key, "/v1/chat/completions", { body })).status).toBe(200);
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.getByText("1 personal key is waiting for approval.").waitFor();
    await page.getByText(/^nightly expires in [23] days/).waitFor();
    await page.getByText("Balance").waitFor();
    await eventually(() =>
      page.getByRole("table", { name: "Recent requests" }).getByRole("row").count(),
    ).toBeGreaterThan(3);
    await page.getByRole("link", { name: "View key" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "home");
    await page.getByRole("radio", { name: "Spend" }).click();
    await page.waitForURL(/chart=spend/);
    // A phone that is turned: the chart has to give back the width that it had.
    await page.setViewportSize({ width: 390, height: 844 });
    await eventually(() => page.evaluate("document.documentElement.scrollWidth")).toBe(390);
    await page.getByRole("button", { name: "Setup guide" }).click();
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
  });

  test("PORTAL-09 a member sees their own figures and no balance", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("?guide=1"));
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
    await page.goto(portal.at());
    await page.getByText("Waiting for the first request").waitFor();
    expect(await page.getByText("Balance").count()).toBe(0);
  });
});

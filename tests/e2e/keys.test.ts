import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

/** Asked again until it is so: a busy machine takes its time. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read);

describe.skipIf(!hasChromium)("the keys of a workspace", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
    await portal.gateway.manage("PATCH", "/workspaces/demo/key-policy", { personal_keys: true, approval: true });
  });
  afterAll(() => portal.close());

  const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
  const secretOf = async (page: Page) => (await page.getByRole("dialog").locator("[data-secret]").textContent()) ?? "";
  const validated = async (key: string) => (await portal.gateway.call(key, "/v1/auth/validate")).status;

  test("PORTAL-02 a key is made with its settings and shown once", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByLabel("Name").fill("backend");
    await page.getByLabel("Expires").selectOption("90");
    await page.getByLabel("Chat").check();
    await page.getByLabel("IP allowlist").fill("127.0.0.1\n::1");
    await page.getByLabel("Rate limit (RPM)").fill("120");
    await page.getByLabel("No training").check();
    await expectAccessible(page);
    await screenshot(page, "keys-create");
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const secret = await secretOf(page);
    expect(secret).toMatch(/^sk_svc_live_/);
    expect(await validated(secret)).toBe(200);
    // Shown once: neither Escape nor a click beside it takes it away, nor marking it with the pointer beyond the edge.
    const shown = page.locator("[data-secret]");
    for (let time = 0; time < 2; time += 1) await page.keyboard.press("Escape");
    await page.mouse.click(5, 5);
    const box = await shown.boundingBox();
    await page.mouse.move((box?.x ?? 0) + 10, (box?.y ?? 0) + 5);
    await page.mouse.down();
    await page.mouse.move(5, 5);
    await page.mouse.up();
    await page.keyboard.press("Escape");
    expect(await shown.textContent()).toBe(secret);
    await page.getByRole("button", { name: "I copied the key" }).click();
    await row(page, "backend").waitFor();
    expect(await page.content()).not.toContain(secret);
    await page.getByRole("button", { name: "Create key" }).click();
    expect(await page.getByLabel("Name").inputValue()).toBe("");
    await page.keyboard.press("Escape");
    await page.getByRole("link", { name: "backend" }).click();
    const drawer = page.getByRole("dialog");
    await drawer.getByText("Rate limit: 120 RPM").waitFor();
    await drawer.getByText("No training").waitFor();
    expect(page.url()).toContain("key=key_");
    await screenshot(page, "keys-detail");
  });

  test("PORTAL-02 KEY-06 a key is created with a spend limit and a policy of its own", async () => {
    const page = await portal.page("operator", { allow: [/status of 400/] });
    await page.goto(portal.at("keys?new=1"));
    const dialog = page.getByRole("dialog");
    await dialog.getByLabel("Name").fill("capped");
    await dialog.getByLabel("Daily limit (EUR)").fill("2000000000");
    await dialog.getByLabel("Monthly limit (EUR)").fill("40");
    await dialog.getByLabel("Sovereignty floor").selectOption("L1");
    await pick(dialog.getByRole("combobox", { name: "Allowed models" }), "sandbox/chat-fr");
    await page.keyboard.press("Escape");
    await pick(dialog.getByRole("combobox", { name: "Allowed countries" }), "France");
    await page.keyboard.press("Escape");
    const submit = dialog.getByRole("button", { name: "Create key" });
    await submit.click();
    // An error stands at its field, and nothing was created.
    await dialog.getByRole("alert").filter({ hasText: "from 0 to 1000000000" }).first().waitFor();
    await dialog.getByLabel("Daily limit (EUR)").fill("2,50");
    await submit.click();
    await secretOf(page);
    const { data } = await portal.gateway.manage("GET", "/workspaces/demo/keys?limit=1000");
    const created = data.filter(({ name }: Json) => name === "capped");
    expect(created).toMatchObject([
      { policy: { floor: "L1", countries: ["FR"], allowed_models: ["sandbox/chat-fr"], no_training: false } },
    ]);
    const limits = () => portal.gateway.manage("GET", `/workspaces/demo/limits?key=${created[0].id}`);
    expect(await limits()).toMatchObject({ day: { limit: "2.50" }, month: { limit: "40.00" } });
    await page.getByRole("button", { name: "I copied the key" }).click();
    await row(page, "capped").getByText("sandbox/chat-fr").waitFor();
    await row(page, "capped").getByText("sk_svc_live_…").waitFor();
    await row(page, "capped").getByText("€2.50 per day, €40.00 per month").waitFor();
    await page.getByLabel("Search keys").fill("chat-fr");
    await eventually(() => page.getByRole("table", { name: "Keys" }).getByRole("row").count()).toBe(2);
    await page.getByRole("button", { name: "Actions for capped" }).click();
    await page.getByRole("menuitem", { name: "Edit" }).click();
    await dialog.getByLabel("Monthly limit (EUR)").fill("");
    await dialog.getByRole("button", { name: "Save key" }).click();
    await page.getByText("capped updated").waitFor();
    expect(await limits()).toMatchObject({ day: { limit: "2.50" }, month: { limit: null } });
  });

  test("PORTAL-02 what a key may spend stands among its limits, for admins and for its member", async () => {
    const { manage } = portal.gateway;
    await portal.person("member");
    const named = { name: "frugal", member: "member@example.eu" };
    const { id } = await manage("POST", "/workspaces/demo/keys", named);
    await manage("PUT", "/workspaces/demo/limits", { key: id, day: "2.50", month: "40" });
    for (const who of ["operator", "member"] as const) {
      const page = await portal.page(who);
      await page.goto(portal.at("keys"));
      await row(page, "frugal").getByText("€2.50 per day, €40.00 per month").waitFor();
      await page.getByRole("link", { name: "frugal" }).click();
      await page.getByRole("dialog").getByText("Spend limit: €2.50 per day").waitFor();
    }
    await manage("POST", `/keys/${id}/revoke`);
  });

  test("PORTAL-02 KEY-03 a key is rotated with a grace that counts down, and revoked after a question", async () => {
    const { key, id } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "worker" });
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "Actions for worker" }).click();
    await page.getByRole("menuitem", { name: "Rotate" }).click();
    const grace = page.getByLabel("Grace period for the old key");
    expect(await grace.inputValue()).toBe("7d");
    await grace.selectOption("24h");
    await page.getByRole("button", { name: "Rotate key" }).click();
    const next = await secretOf(page);
    expect([await validated(key), await validated(next)]).toEqual([200, 200]);
    await page.getByRole("button", { name: "I copied the key" }).click();
    const old = row(page, "rotated");
    const timer = old.getByRole("timer");
    const before = (await timer.textContent()) ?? "";
    expect(before).toMatch(/^23:\d\d:\d\d$/);
    await eventually(() => timer.textContent()).not.toBe(before);
    await page.goto(portal.at(`keys?key=${id}`));
    await page.getByRole("button", { name: "Revoke" }).click();
    await page.getByRole("button", { name: "Revoke key" }).click();
    await page.getByText("worker revoked").waitFor();
    expect([await validated(key), await validated(next)]).toEqual([401, 200]);
    await page.goto(portal.at("keys?view=ended"));
    await row(page, "worker").getByText("revoked").waitFor();
  });

  test("PORTAL-02 settings are changed, and a refusal stands at its field", async () => {
    const { id } = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "notebook" });
    const page = await portal.page("operator", { allow: [/status of 400/] });
    await page.goto(portal.at(`keys?key=${id}`));
    await page.getByRole("button", { name: "Edit" }).click();
    await page.getByLabel("IP allowlist").fill("nowhere");
    await page.getByRole("button", { name: "Save key" }).click();
    await page
      .getByText(/must be IP addresses or CIDR blocks/)
      .first()
      .waitFor();
    await page.getByLabel("IP allowlist").fill("203.0.113.0/24");
    await page.getByRole("button", { name: "Save key" }).click();
    await page.getByText("notebook updated").waitFor();
    expect(await portal.gateway.manage("GET", `/keys/${id}`)).toMatchObject({
      ip_allowlist: ["203.0.113.0/24"],
      rpm: null,
      policy: null,
    });
  });

  test("PORTAL-02 a refusal of a long form comes into sight, and declining a key says so", async () => {
    await portal.person("member");
    const body = { name: "laptop", member: "member@example.eu" };
    await portal.gateway.manage("POST", "/workspaces/demo/keys", body);
    const page = await portal.page("operator", {
      viewport: { width: 390, height: 600 },
      allow: [/ERR_FAILED/],
    });
    await page.goto(portal.at("keys?new=1"));
    const isSeen = async (text: string | RegExp) => {
      const box = await page.getByRole("dialog").getByText(text).boundingBox();
      const buttons = await page.getByRole("dialog").getByRole("button", { name: "Create key" }).boundingBox();
      return box !== null && buttons !== null && box.y > 0 && box.y + box.height <= buttons.y;
    };
    await page.getByLabel("Name").fill("away");
    await page.route("**/manage/workspaces/demo/keys", (route) => route.abort());
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    await eventually(() => isSeen("Can't reach the gateway")).toBe(true);
    await page.unroute("**/manage/workspaces/demo/keys");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "Decline" }).first().click();
    await page.getByRole("heading", { name: /^Decline / }).waitFor();
    await page.getByRole("button", { name: "Decline key" }).click();
    await page.getByText(/ declined$/).waitFor();
  });

  test("PORTAL-02 keys are found and put in order, and both stand in the address", async () => {
    const busy = await portal.gateway.manage("POST", "/workspaces/demo/keys", { name: "busy", environment: "test" });
    const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello." }] };
    expect((await portal.gateway.call(busy.key, "/v1/chat/completions", { body })).status).toBe(200);
    await eventually(async () => (await portal.gateway.manage("GET", `/keys/${busy.id}`)).requests_month).toBe(1);
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "This month" }).click();
    await page.locator('th[aria-sort="ascending"]').waitFor();
    await page.getByRole("button", { name: "This month" }).click();
    await page.waitForURL(/sort=-spend/);
    await page.getByRole("row").nth(1).getByText("1 request").waitFor();
    await expectAccessible(page);
    await screenshot(page, "keys");
    await page.getByLabel("Search keys").fill("test busy");
    await eventually(() => page.getByRole("row").count()).toBe(2);
    await page.reload();
    await row(page, "busy").waitFor();
    await expect.poll(() => page.getByRole("row").count()).toBe(2);
    await page.getByLabel("Search keys").fill("no such key");
    await page.getByRole("button", { name: "Show all keys" }).click();
    await eventually(() => page.getByRole("row").count()).toBeGreaterThan(2);
  });

  test("PORTAL-02 a member's personal key waits for an admin, and sees no other key", async () => {
    const member = await portal.page("member");
    await member.goto(portal.at("keys?new=1"));
    await member.getByLabel("Name").fill("my laptop");
    expect(await member.getByLabel("Rate limit (RPM)").count()).toBe(0);
    await member.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const secret = await secretOf(member);
    expect(secret).toMatch(/^sk_svc_user_live_/);
    await member.getByRole("dialog").getByText("Waiting for approval").waitFor();
    expect(await validated(secret)).toBe(401);
    await member.getByRole("button", { name: "I copied the key" }).click();
    await row(member, "my laptop").waitFor();
    await expect.poll(() => member.getByRole("row").count()).toBe(2);

    const admin = await portal.page("admin");
    await admin.goto(portal.at("keys"));
    await admin.getByText("1 personal key is waiting for approval").waitFor();
    await admin.getByRole("button", { name: "Approve" }).click();
    await admin.getByText("my laptop approved").waitFor();
    expect(await validated(secret)).toBe(200);
  });
});

import { readFile } from "node:fs/promises";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

/** Asked again until it is so: a busy machine takes its time. */
const eventually = <T>(read: () => T | Promise<T>) => expect.poll(read);

describe.skipIf(!hasChromium)("a workspace and its people", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal.close());

  const row = (page: Page, name: string) => page.getByRole("row").filter({ hasText: name });
  const act = async (page: Page, email: string, action: string) => {
    await page.getByRole("button", { name: `Actions for ${email}` }).click();
    await page.getByRole("menuitem", { name: action }).click();
  };

  test("PORTAL-08 an invited member becomes an admin, and removal revokes their keys", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("members?new=1"));
    await page.getByLabel("Email").fill("dora@example.eu");
    await page.getByRole("button", { name: "Send invitation", exact: true }).click();
    const link = (await page.getByRole("dialog").locator("[data-secret]").textContent()) ?? "";
    await page.getByRole("button", { name: "Done" }).click();
    await row(page, "dora@example.eu").getByText("open").waitFor();

    const token = new URL(link).searchParams.get("token");
    const accepted = await fetch(`${portal.origin}/manage/invitations/${token}/accept`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: portal.origin },
      body: JSON.stringify({ name: "Dora Lind", password: "three green bicycles" }),
    });
    expect(accepted.status).toBeLessThan(300);
    await page.getByLabel("Allow personal keys").click();
    await eventually(
      async () => (await portal.gateway.manage("GET", "/workspaces/demo/key-policy")).personal_keys,
    ).toBe(true);
    const made = { name: "laptop", member: "dora@example.eu" };
    const { key } = await portal.gateway.manage("POST", "/workspaces/demo/keys", made);
    await page.reload();
    await row(page, "Dora Lind").getByText("Password only").waitFor();
    await expectAccessible(page);
    await screenshot(page, "members");

    await act(page, "dora@example.eu", "Change role");
    await page.getByLabel("Role", { exact: true }).selectOption("admin");
    await page.getByRole("button", { name: "Change role" }).click();
    await page.getByText("dora@example.eu is now an admin").waitFor();

    expect((await portal.gateway.call(key, "/v1/auth/validate")).status).toBe(200);
    await act(page, "dora@example.eu", "Remove");
    await page.getByText("Their personal key is revoked").waitFor();
    await page.getByLabel(/Type dora/).fill("dora@example.eu");
    await page.getByRole("button", { name: "Remove member" }).click();
    await page.getByText("dora@example.eu removed. 1 personal key revoked.").waitFor();
    expect((await portal.gateway.call(key, "/v1/auth/validate")).status).toBe(401);
  });

  test("PORTAL-08 a member sees who is there, and no way to change it", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at("members"));
    await row(page, "Ada Moreau").waitFor();
    expect(await page.getByRole("button", { name: "Invite member" }).count()).toBe(0);
    expect(await page.getByRole("button", { name: /^Actions for/ }).count()).toBe(0);
    expect(await page.getByLabel("Allow personal keys").isDisabled()).toBe(true);
  });

  test("PORTAL-08 a management token is shown once, opens the workspace, and ends", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("tokens"));
    await page.getByText("No management tokens").waitFor();
    await page.getByRole("button", { name: "Create token" }).first().click();
    await page.getByLabel("Name").fill("nightly report");
    await page.getByRole("dialog").getByRole("button", { name: "Create token" }).click();
    const token = (await page.getByRole("dialog").locator("[data-secret]").textContent()) ?? "";
    const opens = async () => (await portal.gateway.call(token, "/manage/workspaces/demo")).status;
    expect(await opens()).toBe(200);
    await page.getByRole("button", { name: "I copied the token" }).click();
    await row(page, "nightly report").getByText("Read-only").waitFor();
    await page.getByRole("button", { name: "Create token" }).first().click();
    expect(await page.getByLabel("Name").inputValue()).toBe("");
    await page.keyboard.press("Escape");
    await expectAccessible(page);
    await screenshot(page, "tokens");
    await page.getByRole("button", { name: "Revoke nightly report" }).click();
    await page.getByRole("button", { name: "Revoke token" }).click();
    await page.getByText("No management tokens").waitFor();
    expect(await opens()).toBe(401);
  });

  test("PORTAL-08 the audit log is filtered in the address, shows what changed, and is a file", async () => {
    const { gateway } = portal;
    await gateway.manage("POST", "/workspaces/demo/keys", { name: "reporting" });
    await gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "L1" });
    await gateway.manage("PATCH", "/workspaces/demo/policy", { floor: "none" });
    const page = await portal.page("operator");
    await page.goto(portal.at("audit"));
    await row(page, "policy.change").first().waitFor();
    await expectAccessible(page);
    await screenshot(page, "audit");
    await page.getByLabel("Type").selectOption("key");
    await eventually(() => page.getByRole("link", { name: "policy.change" }).count()).toBe(0);
    expect(page.url()).toContain("action=key");
    const [file] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "CSV" }).click(),
    ]);
    const csv = await readFile(await file.path(), "utf8");
    expect(csv.split("\r\n")[0]).toBe("at,actor,action,workspace,target,detail,id");
    expect(csv).toContain("key.create");
    expect(csv).not.toContain("policy.change");
    await page.goto(portal.at("audit?action=policy.change&actor=operator"));
    await page.getByRole("link", { name: "policy.change" }).first().click();
    const drawer = page.getByRole("dialog");
    await drawer.getByText("Changes").waitFor();
    await drawer.getByRole("row").filter({ hasText: "floor" }).getByText("L1").waitFor();
    await screenshot(page, "audit-detail");
    await page.goto(portal.at("audit?actor=unknown"));
    await page.getByText("No entries match").waitFor();
  });

  test("PORTAL-12 on a phone nothing reaches over the edge", async () => {
    const page = await portal.page("operator", { viewport: { width: 380, height: 760 } });
    for (const screen of ["", "keys", "keys?new=1", "members", "tokens?new=1", "audit", "settings"]) {
      await page.goto(portal.at(screen));
      await page.getByRole("heading", { level: 1, includeHidden: true }).waitFor();
      expect([screen, await page.evaluate("document.documentElement.scrollWidth")]).toEqual([screen, 380]);
    }
  });

  test("PORTAL-08 an owner renames the workspace and deletes what is stored", async () => {
    const { gateway } = portal;
    const { key } = await gateway.manage("POST", "/workspaces/demo/keys", { name: "storing" });
    const body = { model: "sandbox/chat", input: "Hello.", store: true };
    expect((await gateway.call(key, "/v1/responses", { body })).status).toBe(200);
    const page = await portal.page("operator");
    await page.goto(portal.at("settings"));
    await page.getByText("30 days, set by the operator").waitFor();
    await expectAccessible(page);
    await screenshot(page, "settings");
    await page.getByLabel("Name", { exact: true }).fill("Research");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByText("Workspace renamed").waitFor();
    expect(await gateway.manage("GET", "/workspaces/demo")).toMatchObject({ name: "Research" });
    await page.getByRole("button", { name: "Delete all" }).click();
    await page.getByLabel("Type demo to confirm").fill("demo");
    await page.getByRole("button", { name: "Delete all responses" }).click();
    await page.getByText("1 response deleted").waitFor();
    expect((await gateway.manage("GET", "/workspaces/demo/responses")).data).toEqual([]);
    await page.getByLabel("Allow personal keys").click();
    await page.getByRole("button", { name: "Turn off personal keys" }).click();
    await eventually(async () => (await gateway.manage("GET", "/workspaces/demo/key-policy")).personal_keys).toBe(
      false,
    );
  });

  test("AUTH-07 PORTAL-01 an admin sets the IP allowlist of all keys, and an invalid entry is named", async () => {
    const { slug } = await portal.gateway.tenant();
    const page = await portal.page("operator", { allow: [/status of 400/] });
    await page.goto(portal.at("settings", slug));
    const list = page.getByLabel("Allowed addresses");
    await list.fill("office");
    await page.getByRole("button", { name: "Save IP allowlist" }).click();
    await page.getByText(/"office" is neither/).waitFor();
    await list.fill("203.0.113.0/24\n2001:db8::/32");
    await page.getByRole("button", { name: "Save IP allowlist" }).click();
    await page.getByText("IP allowlist saved").waitFor();
    expect(await portal.gateway.manage("GET", `/workspaces/${slug}/key-policy`)).toMatchObject({
      ip_allowlist: ["203.0.113.0/24", "2001:db8::/32"],
    });
    await expectAccessible(page);
  });
});

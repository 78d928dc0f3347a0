import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("an invited member", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  }, 120_000);
  afterAll(() => portal.close());

  test("PORTAL-21 gets from the invitation to a first served request, within the limit of the invitation", async () => {
    const admin = await portal.page("operator");
    await admin.goto(portal.at("members?new=1"));
    await admin.getByLabel("Email").fill("dora@example.eu");
    await admin.getByText("members can only use the playground").waitFor();
    expect(await admin.getByLabel("Let members create personal keys").isChecked()).toBe(false);
    await admin.getByLabel(/Monthly spend limit/).fill("3.50");
    await expectAccessible(admin);
    await screenshot(admin, "invite-member");
    await admin.getByRole("button", { name: "Send invitation", exact: true }).click();
    const link = (await admin.getByRole("dialog").locator("[data-secret]").textContent()) ?? "";

    const page = await portal.page("visitor", { allow: [/status of 404/] });
    await page.goto(link);
    await page.getByLabel("Name").fill("Dora Lind");
    await page.getByLabel("Password", { exact: true }).fill("three green bicycles");
    const repeated = page.getByLabel(/Repeat|Confirm/);
    if ((await repeated.count()) > 0) await repeated.fill("three green bicycles");
    await page.getByRole("button", { name: /Accept|Join|Create/ }).click();
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
    await page.getByText("Personal keys are off in this workspace").waitFor();
    await page.getByRole("link", { name: "Open playground" }).click();
    await page.getByLabel("Prompt", { exact: true }).fill("Good morning!");
    await page.getByRole("button", { name: "Send" }).click();
    await page
      .getByRole("log", { name: "Conversation" })
      .getByText(/simulated by sandbox-/)
      .waitFor();

    // Recorded once the stream has ended.
    await expect
      .poll(async () => (await portal.gateway.manage("GET", "/workspaces/demo/requests")).data)
      .toMatchObject([{ status: 200, member: "dora@example.eu", key_name: "Playground" }]);
    const limits = await portal.gateway.manage("GET", "/workspaces/demo/limits?member=dora%40example.eu");
    expect(limits.month).toMatchObject({ limit: "3.50" });
    // The hidden key appears neither among the keys nor in what needs attention.
    await admin.goto(portal.at("keys"));
    await admin.getByRole("heading", { level: 1, name: "Keys" }).waitFor();
    const listed = await portal.gateway.manage("GET", "/workspaces/demo/keys");
    expect(listed.data.map(({ name }: Json) => name)).not.toContain("Playground");
    await expect.poll(() => admin.getByText("Playground", { exact: true }).count()).toBeLessThanOrEqual(1);

    // A second tab goes on with the same key.
    const second = await page.context().newPage();
    await second.goto(portal.at("playground?model=sandbox%2Fchat"));
    await second.getByLabel("Prompt", { exact: true }).fill("And again?");
    await second.getByRole("button", { name: "Send" }).click();
    await second
      .getByRole("log", { name: "Conversation" })
      .getByText(/simulated by sandbox-/)
      .waitFor();
    const hidden = await portal.gateway.manage("GET", "/workspaces/demo/keys?purpose=playground");
    expect(hidden.data).toHaveLength(1);
  });
});

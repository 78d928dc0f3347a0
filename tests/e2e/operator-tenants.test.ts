import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { ageSessions, PASSWORD, tokenOf } from "../support/people.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { HELLO, openOperator, rowOf } from "./support/operator.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the operator's workspaces and people", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
    await portal.person("member");
  });
  afterAll(() => portal.close());

  const wallet = async (slug: string): Promise<Json> => portal.gateway.manage("GET", `/workspaces/${slug}/wallet`);

  test("PORTAL-10 a workspace is created, and leads on to inviting its owner", async () => {
    const page = await openOperator(portal, "/workspaces");
    await rowOf(page, "demo").waitFor();
    await page.getByRole("button", { name: "Create workspace" }).click();
    await page.getByLabel("Name").fill("Forschung & Lehre");
    expect(await page.getByLabel("Slug").inputValue()).toBe("forschung-lehre");
    await page.getByRole("dialog").getByRole("button", { name: "Create workspace", exact: true }).click();
    await page.waitForURL(/\/app\/w\/forschung-lehre\/members\?new=1/);
    expect(await portal.gateway.manage("GET", "/workspaces/forschung-lehre")).toMatchObject({
      name: "Forschung & Lehre",
    });
  });

  test("PORTAL-10 money is put in, given as promotion, taken out and refunded; a margin is set", async () => {
    const { gateway } = portal;
    await gateway.manage("POST", "/workspaces", { slug: "books", name: "Books" });
    const { key } = await gateway.manage("POST", "/workspaces/books/keys", { name: "k" });
    const page = await openOperator(portal, "/workspaces?q=books");
    const act = async (item: string) => {
      await page.getByRole("button", { name: "Actions for Books" }).click();
      await page.getByRole("menuitem", { name: item }).click();
    };
    await act("Add funds");
    for (const unclear of ["1,234", "1.234,50"]) {
      await page.getByLabel("Amount (EUR)").fill(unclear);
      await page.getByRole("button", { name: "Add funds" }).click();
      expect(await page.locator("input:user-invalid").inputValue()).toBe(unclear);
    }
    await page.getByLabel("Amount (EUR)").fill("1.234");
    await page.getByRole("button", { name: "Add €1.234" }).waitFor();
    await page.getByLabel("Amount (EUR)").fill("25,50");
    await page.getByRole("textbox", { name: "Note (optional)", exact: true }).fill("Invoice 17");
    await expectAccessible(page);
    await screenshot(page, "operator-credit");
    await page.getByRole("button", { name: "Add €25.50" }).click();
    await page.getByText("€25.50 added to Books").waitFor();
    await rowOf(page, "Books").getByText("€25.50").waitFor();

    await act("Grant promotional credit");
    await page.getByLabel("Amount (EUR)").fill("5");
    await page.getByRole("button", { name: "Grant €5.00" }).click();
    await rowOf(page, "Books").getByText("€30.50").waitFor();

    await act("Adjust balance");
    await page.getByLabel("Amount (EUR)").fill("0.5");
    await page.getByLabel("Reason").fill("A wrong booking");
    await page.getByRole("button", { name: "Deduct €0.50" }).click();
    await rowOf(page, "Books").getByText("€30.00").waitFor();

    await act("Set margin");
    await page.getByLabel("Margin (%)").fill("5");
    await page.getByRole("button", { name: "Set margin" }).click();
    await rowOf(page, "Books").getByText("5%").waitFor();
    expect(await gateway.manage("GET", "/workspaces/books/margin")).toMatchObject({ own: "0.05" });

    const { body } = await gateway.call(key, "/v1/chat/completions", { body: HELLO });
    const before = await wallet("books");
    await act("Refund request");
    await page.getByLabel("Request ID").fill(body.id);
    await page.getByLabel("Reason").fill("It was cut off");
    await page.getByRole("button", { name: "Refund", exact: true }).click();
    await page.getByText("refunded to Books").waitFor();
    expect(Number((await wallet("books")).balance)).toBeGreaterThan(Number(before.balance));
    await page.goto(`${portal.origin}/app/operator/workspaces`);
    await rowOf(page, "Books").waitFor();
    await expectAccessible(page);
    await screenshot(page, "operator-workspaces");
  });

  test("PORTAL-10 people: one is made operator and loses it again, is disabled, and gets a reset link", async () => {
    const page = await openOperator(portal, "/people");
    const clara = () => rowOf(page, "member@example.eu");
    const act = async (item: string, button: string) => {
      await page.getByRole("button", { name: "Actions for Clara Nowak" }).click();
      await page.getByRole("menuitem", { name: item }).click();
      await page.getByRole("dialog").getByRole("button", { name: button }).click();
    };
    await clara().waitFor();
    await act("Grant operator role", "Grant operator role");
    await clara().getByText("Operator", { exact: true }).waitFor();
    await act("Remove operator role", "Remove operator role");
    await page.getByText("is no longer an operator").waitFor();
    await act("Create password reset link", "Create link");
    expect(await page.getByRole("dialog").locator("[data-secret]").textContent()).toContain(
      "/app/reset-password?token=",
    );
    await page.getByRole("button", { name: "Done" }).click();
    await act("Disable account", "Disable");
    await clara().getByText("disabled").waitFor();
    await act("Enable account", "Enable");
    await page.getByText(/^Account of .* enabled$/).waitFor();
    await expectAccessible(page);
    await screenshot(page, "operator-people");
  });

  test("PORTAL-08 PORTAL-11 people: one is erased once their address is typed; a row without a name is left", async () => {
    const { gateway } = portal;
    const email = "leaving@example.eu";
    const { link } = await gateway.manage("POST", "/workspaces/demo/invitations", { email, role: "member" });
    const account = { name: "Lea Ving", password: PASSWORD };
    await gateway.call("", `/manage/invitations/${tokenOf(link)}/accept`, { body: account });
    const page = await openOperator(portal, "/people");
    await rowOf(page, email).waitFor();
    await page.getByRole("button", { name: "Actions for Lea Ving" }).click();
    await page.getByRole("menuitem", { name: "Erase person" }).click();
    const dialog = page.getByRole("dialog", { name: "Erase Lea Ving" });
    const erase = dialog.getByRole("button", { name: "Erase person", exact: true });
    expect(await erase.isDisabled()).toBe(true);
    await expectAccessible(page);
    await screenshot(page, "operator-erase");
    await dialog.getByLabel(`Type ${email} to confirm`).fill(email);
    await erase.click();
    await page.getByText("Person erased").waitFor();
    const row = rowOf(page, "@erased.invalid");
    await row.getByText("Erased", { exact: true }).waitFor();
    for (const gone of [row.getByRole("button"), page.getByText(email)]) await gone.waitFor({ state: "detached" });
  });

  test("PORTAL-11 granting the admin role requires a recent sign-in", async () => {
    const { email, password } = await portal.person("operator");
    const page = await portal.page("operator", { allow: [/status of 403/] });
    await page.goto(portal.at("members"));
    await page.getByRole("button", { name: "Actions for member@example.eu" }).waitFor();
    ageSessions(portal.gateway.dataDir, email, 16);
    await page.getByRole("button", { name: "Actions for member@example.eu" }).click();
    await page.getByRole("menuitem", { name: "Change role" }).click();
    await page.getByLabel("Role", { exact: true }).selectOption("admin");
    await page.getByRole("button", { name: "Change role" }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
    await dialog.getByLabel("Password").waitFor();
    await expectAccessible(page);
    await screenshot(page, "still-you");
    await page.keyboard.press("Escape");
    await page.getByText("Nothing was changed.").waitFor();
    await page.getByRole("button", { name: "Change role" }).click();
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await page.getByText("member@example.eu is now an admin").waitFor();

    // Connecting a device also counts as a sign-in.
    const deviceCode = await portal.gateway.call("", "/manage/auth/device/code", {
      body: { client_id: "gateway-cli" },
    });
    await page.goto(`${portal.origin}/device?user_code=${deviceCode.body.user_code}`);
    ageSessions(portal.gateway.dataDir, email, 16);
    await page.getByRole("button", { name: "Connect device" }).click();
    await dialog.getByLabel("Password").fill(password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("heading", { name: "Device connected" }).waitFor();
  });
});

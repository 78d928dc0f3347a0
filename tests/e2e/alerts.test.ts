import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Mailbox, openMailbox } from "../support/alerts.ts";
import type { Json } from "../support/gateway.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("alerts in the portal", () => {
  let portal: Portal;
  let mailbox: Mailbox;
  let hook: Upstream;
  beforeAll(async () => {
    mailbox = await openMailbox();
    hook = await startUpstream({ status: 204 });
    portal = await openPortal({
      GATEWAY_SMTP_URL: mailbox.url,
      GATEWAY_MAIL_FROM: "alerts@example.eu",
      GATEWAY_WEBHOOK_PRIVATE: "on",
      GATEWAY_ALERTS_EVERY_MS: "50",
    });
  });
  afterAll(async () => {
    await portal?.close();
    await hook?.close();
    await mailbox?.close();
  });

  test("PORTAL-05 alerts are switched on, the webhook's secret is shown once, and a test says what became of it", async () => {
    const page = await portal.page("admin", { allow: [/status of 400/] });
    await page.goto(portal.at("alerts"));
    await page.getByText("Alerts are off").waitFor();
    await page.getByLabel("Balance below (EUR)").fill("25,00");
    await page.getByLabel("Spend limit usage (%)").fill("80, 200");
    await page.getByLabel("A provider rejects one of our keys").uncheck();
    await page.getByRole("radio", { name: "Specific addresses" }).click();
    await page.getByLabel("Email addresses, one per line").fill("ops@example.eu");
    await page.getByLabel("Webhook").fill(`${hook.url}/hook`);
    const save = page.getByRole("button", { name: "Turn on alerts" });
    await save.click();
    await page.getByRole("alert").filter({ hasText: "from 1 to 100" }).waitFor();
    await page.getByLabel("Spend limit usage (%)").fill("80, 100");
    await save.click();
    const dialog = page.getByRole("dialog");
    const secret = (await dialog.locator("[data-secret]").textContent()) ?? "";
    expect(secret).toMatch(/^whsec_/);
    await dialog.getByRole("button", { name: "I saved it" }).click();
    expect(await page.getByText(secret).count()).toBe(0);
    expect(await portal.gateway.manage("GET", "/workspaces/demo/alerts")).toMatchObject({
      ...{ enabled: true, low_balance: "25.00", limit_percents: [80, 100], credential_refused: false },
      ...{ mail_to: ["ops@example.eu"], webhook: { url: `${hook.url}/hook` } },
    });

    await page.getByRole("button", { name: "Send test alert" }).click();
    await dialog.getByText("Delivered to all recipients.").waitFor();
    await expect
      .poll(() => dialog.getByRole("listitem").allTextContents())
      .toEqual([expect.stringContaining("ops@example.eu"), expect.stringContaining(hook.url)]);
    await dialog.getByRole("button", { name: "Close" }).last().click();
    await screenshot(page, "alerts");
    await expectAccessible(page);
  });

  test("PORTAL-05 the secret is rotated, deliveries are listed, and alerts are switched off", async () => {
    await portal.gateway.manage("PUT", "/workspaces/demo/alerts", {
      ...{ low_balance: "1000000", mail_to: ["ops@example.eu"], webhook_url: `${hook.url}/hook` },
    });
    const page = await portal.page("admin");
    const dialog = page.getByRole("dialog");
    await page.goto(portal.at("alerts"));
    await page.getByRole("button", { name: "Rotate secret" }).click();
    await dialog.getByRole("button", { name: "Rotate secret" }).click();
    expect(await dialog.locator("[data-secret]").textContent()).toMatch(/^whsec_/);
    await dialog.getByRole("button", { name: "I saved it" }).click();

    const listDeliveries = async (): Promise<Json[]> =>
      (await portal.gateway.manage("GET", "/workspaces/demo/alerts/deliveries")).data;
    // The page refetches later.
    await expect
      .poll(async () => (await listDeliveries()).map(({ state }) => state))
      .toEqual(["delivered", "delivered"]);
    await page.getByRole("tab", { name: "Deliveries" }).click();
    const deliveries = page.getByRole("table", { name: "Deliveries" });
    for (const { title, target, attempts } of await listDeliveries())
      await deliveries
        .getByRole("row")
        .filter({ hasText: title })
        .filter({ hasText: `${target}StatusDeliveredAttempts${attempts}` })
        .waitFor();
    await expectAccessible(page);

    await page.getByRole("button", { name: "Turn off" }).click();
    await dialog.getByRole("button", { name: "Turn off" }).click();
    await page.getByText("Off", { exact: true }).waitFor();
    expect(await portal.gateway.manage("GET", "/workspaces/demo/alerts")).toMatchObject({ enabled: false });
  });

  test("PORTAL-05 a receiver that did not get the test is named with its reason, and too many tests say how long to wait", async () => {
    hook.always({ status: 500 });
    const alerts = "/workspaces/demo/alerts";
    await portal.gateway.manage("PUT", alerts, { webhook_url: `${hook.url}/hook`, mail_to: [] });
    const page = await portal.page("admin", { allow: [/status of 429/] });
    await page.goto(portal.at("alerts"));
    await page.getByRole("button", { name: "Send test alert" }).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByText("the receiver responded with 500").waitFor();
    await dialog.getByRole("button", { name: "Close" }).last().click();
    const token = portal.gateway.adminToken;
    const send = () => portal.gateway.call(token, `/manage${alerts}/test`, { method: "POST" });
    while ((await send()).status === 200);
    await page.getByRole("button", { name: "Send test alert" }).click();
    await dialog.getByText("10 test alerts per hour").waitFor();
  });
});

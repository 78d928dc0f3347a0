import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const PASSWORD = "seven wet otters knit";

describe.skipIf(!hasChromium)("the first start", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  test("PORTAL-01 the printed link sets the gateway up, once", async () => {
    const { link } = await portal.gateway.manage("POST", "/setup-link");
    const page = await portal.page("visitor", { allow: [/status of 400/] });
    await page.goto(`${portal.origin}/app/setup?token=wrong`);
    await page.getByRole("heading", { name: "Link no longer valid" }).waitFor();
    await page.goto(`${portal.origin}/app/setup`);
    await page.getByRole("heading", { name: "Link no longer valid" }).waitFor();
    await page.goto(new URL(String(link), portal.origin).href);
    await page.getByRole("heading", { name: "Set up your gateway" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "setup");
    await page.getByLabel("Name").fill("Ada Moreau");
    await page.getByLabel("Email").fill("ada@example.eu");
    await page.getByLabel("Password").fill("password1234");
    await page.getByRole("button", { name: "Create account" }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: /password/i })
      .waitFor();
    await page.getByLabel("Password").fill(PASSWORD);
    const requested: string[] = [];
    page.on("request", (request) => requested.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.getByRole("button", { name: "Create account" }).click();
    await page.waitForURL(portal.at());
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
    expect(requested).not.toContain("GET /manage/setup");
    await page.goto(new URL(String(link), portal.origin).href);
    await page.getByRole("heading", { name: "Already set up" }).waitFor();
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("guides", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  test("PORTAL-23 search opens with the / key, loads its index on first use and opens a section", async () => {
    const page = await portal.page("visitor");
    const loaded: string[] = [];
    page.on("request", (request) => loaded.push(request.url()));
    await page.goto(`${portal.origin}/docs/guides`);
    await page.getByRole("heading", { level: 1, name: "Guides" }).waitFor();
    const indexLoads = () => loaded.filter((url) => /\/docs\/assets\/search-/.test(url)).length;
    expect(indexLoads()).toBe(0);
    await page.keyboard.press("/");
    await page.keyboard.type("sovereignty_floor");
    await page.getByRole("option", { name: /sovereignty_floor_not_met/ }).waitFor();
    expect(indexLoads()).toBe(1);
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/docs\/guides\/[\w/-]+/);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await page.keyboard.press("/");
    await page.keyboard.type("zzzzqqq");
    await page.getByText("No results for “zzzzqqq”.").waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("No results for “zzzzqqq”.").waitFor({ state: "hidden" });
  });

  test("PORTAL-23 a guide has a sidebar, contents, neighbours and a link back to the portal", async () => {
    const page = await portal.page("operator");
    await page.goto(`${portal.origin}/docs/guides/routing`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "guide");
    await page.setViewportSize({ width: 1440, height: 900 });
    const sidebar = page.getByRole("navigation", { name: "Guides" });
    expect(await sidebar.locator('[aria-current="page"]').textContent()).toBe("Routing");
    await page.getByRole("navigation", { name: "On this page" }).getByRole("link", { name: "Levels" }).click();
    expect(new URL(page.url()).hash).toBe("#levels");
    await page.getByRole("navigation", { name: "Previous and next guide" }).getByRole("link", { name: /Next/ }).click();
    await page.waitForURL(`${portal.origin}/docs/guides/routers`);
    await page.getByRole("link", { name: "Back to portal" }).click();
    await page.waitForURL(portal.at());
  });

  test("PORTAL-23 a guide fits a phone: no horizontal scrolling, the list of guides in a menu", async () => {
    const page = await portal.page("visitor", { viewport: { width: 390, height: 844 } });
    for (const guide of ["errors", "benchmarks", "settings", "clients/codex"]) {
      await page.goto(`${portal.origin}/docs/guides/${guide}`);
      await page.getByRole("heading", { level: 1 }).waitFor();
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    }
    await page.getByText("All guides").click();
    await page.getByRole("navigation", { name: "Guides" }).getByRole("link", { name: "Errors" }).click();
    await page.waitForURL(`${portal.origin}/docs/guides/errors`);
    await expectAccessible(page);
  });

  test("PORTAL-23 a code block is copied, and the theme is that of the portal", async () => {
    const page = await portal.page("visitor", { permissions: ["clipboard-read", "clipboard-write"] });
    await page.goto(`${portal.origin}/docs/guides/quick-start`);
    await page.getByRole("button", { name: "Copy" }).first().click();
    await page.getByRole("button", { name: "Copied" }).waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("npm start");
    const theme = page.getByRole("button", { name: /^Theme/ });
    await theme.click();
    await theme.click();
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
    await page.goto(`${portal.origin}/app/models`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.evaluate("getComputedStyle(document.documentElement).colorScheme")).toBe("dark");
  });

  test("PORTAL-23 a screen links to its guide, and an error to its code", async () => {
    const page = await portal.page("operator", { allow: [/status of 404/] });
    await page.goto(portal.at("limits"));
    await page.getByRole("link", { name: "Docs" }).click();
    await page.waitForURL(`${portal.origin}/docs/guides/limits`);
    await page.goto(portal.at("requests/chatcmpl-missing1"));
    await page.getByRole("link", { name: "not_found" }).click();
    await page.waitForURL(`${portal.origin}/docs/guides/errors#not_found`);
    await page.getByRole("heading", { name: "not_found", exact: true }).waitFor();
  });

  test("PORTAL-23 both API references are selectable and link to the guides and the portal", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/docs`);
    await page.getByRole("heading", { level: 1, name: "Inference Gateway", exact: true }).waitFor();
    await page.getByRole("link", { name: "Management API" }).click();
    await page.getByRole("heading", { level: 1, name: "Inference Gateway: management" }).waitFor({ timeout: 60_000 });
    expect(await page.getByRole("link", { name: "Guides", exact: true }).getAttribute("href")).toBe("/docs/guides");
    await page.getByRole("link", { name: "Back to portal" }).click();
    await page.waitForURL(`${portal.origin}/`);
  });
});

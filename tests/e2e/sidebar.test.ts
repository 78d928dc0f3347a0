import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";

describe.skipIf(!hasChromium)("the sidebar", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  const navigationOf = (page: Page) => page.getByRole("navigation", { name: "Main" });
  const group = (page: Page, name: string) => navigationOf(page).getByRole("button", { name, exact: true });
  const links = (page: Page) => navigationOf(page).getByRole("link").count();

  test("shows at most 14 entries: opening a group closes the one that was opened first", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await navigationOf(page).getByRole("link", { name: "Playground" }).waitFor();
    expect(await links(page)).toBeLessThanOrEqual(14);
    for (const name of ["Control", "Workspace", "Observe", "Control"]) {
      await group(page, name).click();
      expect(await group(page, name).getAttribute("aria-expanded")).toBe("true");
      expect(await links(page)).toBeLessThanOrEqual(14);
    }
    await expectAccessible(page);
  });

  test("groups are operated by the keyboard, and stay as they were left", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await group(page, "Observe").focus();
    await page.keyboard.press("Enter");
    expect(await group(page, "Observe").getAttribute("aria-expanded")).toBe("false");
    expect(await navigationOf(page).getByRole("link", { name: "Usage" }).count()).toBe(0);
    await page.reload();
    await group(page, "Build").waitFor();
    expect(await group(page, "Observe").getAttribute("aria-expanded")).toBe("false");
    // A screen of a closed group opens it.
    await page.goto(portal.at("usage"));
    const current = navigationOf(page).locator('[aria-current="page"]');
    await current.waitFor();
    expect(await current.textContent()).toBe("Usage");
  });

  test.each([390, 900, 1440])("the operator area is one click away at %i px, and so is the way back", async (width) => {
    const page = await portal.page("operator", { viewport: { width, height: 700 } });
    await page.goto(portal.at("usage"));
    await page.getByRole("heading", { level: 1, name: "Usage" }).waitFor();
    await page.getByRole("link", { name: "Operator", exact: true }).click();
    await page.waitForURL(`${portal.origin}/app/operator`);
    await expectAccessible(page);
    if (width < 1024) await page.getByRole("button", { name: "Open navigation" }).click();
    expect(await links(page)).toBeLessThanOrEqual(14);
    await navigationOf(page).getByRole("link", { name: "Workspaces", exact: true }).waitFor();
    await navigationOf(page).getByRole("link", { name: "Back to workspace" }).click();
    await page.waitForURL(portal.at());
  });

  test("a member sees all screens at once and no operator area", async () => {
    const page = await portal.page("member");
    await page.goto(portal.at());
    await navigationOf(page).getByRole("link", { name: "Settings" }).waitFor();
    expect(await links(page)).toBeLessThanOrEqual(14);
    expect(await page.getByRole("link", { name: "Operator", exact: true }).count()).toBe(0);
  });
});

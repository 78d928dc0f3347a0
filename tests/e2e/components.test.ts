import type { Locator, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { pick } from "./support/pick.ts";
import { openPortal, type Portal } from "./support/portal.ts";

describe.skipIf(!hasChromium)("the portal's components", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  const focused = (page: Page) => page.evaluate("document.activeElement.textContent.trim()");

  const hasFocus = (control: Locator) => control.evaluate((element) => element.matches(":focus"));

  const openRouter = async (page: Page) => {
    await page.goto(portal.at("routers/drafted?new=1"));
    const picker = page.getByRole("combobox", { name: "Add model" });
    await picker.waitFor();
    return picker;
  };

  test("PORTAL-12 a picker is searched and operated by the keyboard alone, and returns the focus", async () => {
    const page = await portal.page("operator");
    const picker = await openRouter(page);
    await picker.focus();
    await page.keyboard.press("ArrowDown");
    const search = page.getByRole("combobox", { name: "Search models" });
    await search.waitFor();
    const options = page.getByRole("listbox").getByRole("option");
    expect(await options.count()).toBeGreaterThan(5);
    await page.keyboard.type("sandbox/chat-f");
    await expect.poll(() => options.allTextContents()).toEqual(["sandbox/chat-frAvailable"]);
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await search.waitFor({ state: "hidden" });
    await page.getByRole("list", { name: "Fallback models" }).getByText("sandbox/chat-fr").waitFor();
    expect(await hasFocus(picker)).toBe(true);
    await page.keyboard.press("ArrowDown");
    await search.fill("no model has this name");
    await page.getByText("No results for “no model has this name”").waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "hidden" });
    expect(await hasFocus(picker)).toBe(true);
  });

  test("a picker works by touch on a phone, within the window", async () => {
    const page = await portal.page("operator", { viewport: { width: 390, height: 844 }, hasTouch: true });
    const picker = await openRouter(page);
    await picker.tap();
    const list = page.getByRole("dialog").last();
    await page.getByRole("option", { name: "sandbox/chat-mini" }).waitFor();
    const box = await list.boundingBox();
    expect(box?.x).toBeGreaterThanOrEqual(0);
    expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThanOrEqual(390);
    await page.getByRole("option", { name: "sandbox/chat-mini" }).tap();
    await page.getByRole("list", { name: "Fallback models" }).getByText("sandbox/chat-mini").waitFor();
  });

  test("Escape closes only the top dialog, and each returns the focus to where it was opened", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("nodes"));
    await page.getByRole("button", { name: "Add node" }).first().click();
    const dialog = page.getByRole("dialog", { name: "Add node" });
    await dialog.waitFor();
    await page.keyboard.press("Control+k");
    const palette = page.getByRole("dialog", { name: "Search and commands" });
    await palette.waitFor();
    await page.keyboard.press("Escape");
    await palette.waitFor({ state: "hidden" });
    expect(await dialog.isVisible()).toBe(true);
    await pick(dialog.getByLabel("Country"), "France");
    expect(await dialog.getByLabel("Country").textContent()).toBe("France");
    await dialog.getByLabel("Country").click();
    const search = page.getByRole("combobox", { name: "Search countries" });
    await search.waitFor();
    await page.keyboard.press("Escape");
    await search.waitFor({ state: "hidden" });
    expect(await dialog.isVisible()).toBe(true);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await focused(page)).toContain("Add node");
  });

  test("Tab stays in a dialog", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "Create key" }).click();
    await page.getByRole("dialog", { name: "Create key" }).waitFor();
    for (let press = 0; press < 25; press += 1) {
      await page.keyboard.press("Tab");
      // At its end, a focus guard outside the dialog has the focus for a moment.
      await expect.poll(() => page.evaluate("document.activeElement.closest('[role=dialog]') !== null")).toBe(true);
    }
  });

  test("a menu is operated by the keyboard and returns the focus", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    const button = page.getByRole("button", { name: "Account: ", disabled: false });
    await button.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("menuitem", { name: "Sign out" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
    await page.getByRole("menu").waitFor({ state: "hidden" });
    expect(await hasFocus(button)).toBe(true);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForURL(`${portal.origin}/app/account`);
  });

  test("a menu that loads late keeps the focus of its button", async () => {
    const page = await portal.page("operator");
    const { promise: isFocused, resolve: load } = Promise.withResolvers<void>();
    await page.route(/\/menu-popup-[^/]+\.js$/, (route) => isFocused.then(() => route.continue()));
    await page.goto(portal.at());
    await page.getByRole("button", { name: "Account: ", disabled: true }).focus();
    load();
    const button = page.getByRole("button", { name: "Account: ", disabled: false });
    await button.waitFor();
    await expect.poll(() => hasFocus(button)).toBe(true);
  });

  test("a tooltip names an icon button on focus", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.waitForLoadState("networkidle");
    await page.getByRole("button", { name: /^Theme/, disabled: false }).focus();
    await page.keyboard.press("Tab");
    await page.getByText("Help and shortcuts", { exact: true }).waitFor();
  });

  test("PORTAL-12 texts use the gateway's own fonts; nothing is requested elsewhere", async () => {
    const page = await portal.page("operator");
    const hosts = new Set<string>();
    page.on("request", (request) => hosts.add(new URL(request.url()).origin));
    await page.goto(portal.at("connect"));
    await page.getByRole("heading", { level: 1 }).waitFor();
    const loaded = () =>
      page.evaluate(
        "[...document.fonts].filter((font) => font.status === 'loaded').map((font) => font.family.replaceAll('\"', ''))",
      );
    await expect.poll(loaded).toEqual(expect.arrayContaining(["Inter Variable", "JetBrains Mono Variable"]));
    expect(await page.evaluate("getComputedStyle(document.body).fontFamily")).toMatch(/^"Inter Variable"/);
    expect([...hosts]).toEqual([portal.origin]);
  });
});

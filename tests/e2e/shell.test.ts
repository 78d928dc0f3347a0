import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectAccessible } from "./support/accessible.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

describe.skipIf(!hasChromium)("the portal's shell", () => {
  let portal: Portal;
  beforeAll(async () => {
    portal = await openPortal();
  });
  afterAll(() => portal?.close());

  const themeOf = (page: Page) => page.evaluate("getComputedStyle(document.documentElement).colorScheme");

  test("PORTAL-12 the start says what this is, without a sign-in, and nothing leaves the origin", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/`);
    await page.getByRole("heading", { level: 1 }).waitFor();
    expect(await page.title()).toContain("Inference Gateway");
    await expectAccessible(page);
    await screenshot(page, "start");
    await page.getByRole("main").getByRole("link", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("a screen that needs a person leads to sign-in and says where one wanted to go", async () => {
    const page = await portal.page("visitor");
    await page.goto(portal.at("keys?state=active"));
    await page.getByLabel("Email").waitFor();
    expect(new URL(page.url()).searchParams.get("next")).toBe("/app/w/demo/keys?state=active");
  });

  test("PORTAL-12 home, navigation and theme: axe finds nothing, on a phone neither", async () => {
    const page = await portal.page("operator");
    await page.goto(`${portal.origin}/`);
    await page.waitForURL(portal.at());
    await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Requests" }).waitFor();
    await expectAccessible(page);
    await page.setViewportSize({ width: 390, height: 844 });
    await page.getByRole("button", { name: "Open navigation" }).click();
    const drawer = page.getByRole("dialog", { name: "Navigation" });
    await drawer.getByRole("link", { name: "Account" }).waitFor({ state: "detached" });
    await expectAccessible(page);
    await drawer.getByRole("button", { name: "Workspace", exact: true }).click();
    await drawer.getByRole("link", { name: "Settings" }).click();
    await page.waitForURL(portal.at("settings"));
    await drawer.waitFor({ state: "hidden" });
    const isWide = await page.evaluate("document.documentElement.scrollWidth > innerWidth");
    expect(isWide).toBe(false);
  });

  test("the theme can be chosen, and stays chosen", async () => {
    const page = await portal.page("operator", { colorScheme: "light" });
    await page.goto(`${portal.origin}/app/account`);
    await page.getByRole("heading", { name: "Account" }).waitFor();
    expect(await themeOf(page)).toBe("light dark");
    await page.getByRole("button", { name: /^Theme/ }).click();
    await page.getByRole("menuitem", { name: "Dark" }).click();
    expect(await themeOf(page)).toBe("dark");
    await page.reload();
    expect(await themeOf(page)).toBe("dark");
  });

  test("the palette finds screens and commands by the keyboard alone", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: "Search and commands" }).fill("ledger");
    await page.getByRole("option", { name: /Wallet/ }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Enter");
    await page.waitForURL(portal.at("wallet"));
    await page.getByRole("dialog").waitFor({ state: "hidden" });
    await page.keyboard.press("g");
    await page.keyboard.press("h");
    await page.waitForURL(portal.at());
    await page.keyboard.press("?");
    await page.getByRole("heading", { name: "Help and shortcuts" }).waitFor();
    await expectAccessible(page);
    await page.keyboard.press("Escape");
  });

  test("an unknown address and a workspace of others are not found, a screen above one's role is refused", async () => {
    const operator = await portal.page("operator");
    await operator.goto(`${portal.origin}/app/nowhere`);
    await operator.getByRole("heading", { level: 1, name: "Page not found" }).waitFor();
    expect(await operator.title()).toContain("Not found");
    const member = await portal.page("member");
    await member.goto(portal.at("", "somebody-elses"));
    await member.getByRole("heading", { level: 1, name: "Workspace not found" }).waitFor();
    await member.goto(portal.at("audit"));
    await member.getByRole("heading", { level: 1, name: "Only admins and owners can view this page" }).waitFor();
    expect(await member.getByRole("navigation", { name: "Main" }).locator('[aria-current="page"]').count()).toBe(0);
    await member.goto(`${portal.origin}/app/operator`);
    await member.getByRole("heading", { level: 1, name: "Only operators can view this page" }).waitFor();
    expect(
      await member.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Audit log" }).count(),
    ).toBe(0);
  });

  test("a session that ends in the middle of work hides the screen and keeps what was written", async () => {
    const page = await portal.page("operator", { allow: [/status of 401/] });
    await page.goto(portal.at("keys?new=1"));
    const name = page.getByRole("dialog", { name: "Create key" }).getByLabel("Name");
    await name.fill("half written");
    const cookies = await page.context().cookies();
    await page.context().clearCookies();
    await page.getByRole("dialog").getByRole("button", { name: "Create key" }).click();
    const over = page.getByRole("dialog", { name: "Session expired" });
    await over.waitFor();
    expect(await name.isVisible()).toBe(false);
    await expectAccessible(page);
    await page.context().addCookies(cookies);
    await over.getByRole("button", { name: "I signed in" }).click();
    await over.waitFor({ state: "hidden" });
    expect(await name.inputValue()).toBe("half written");
  });

  test("a form begins at its first field; what is said now stands over the dialog", async () => {
    const page = await portal.page("operator");
    await page.goto(portal.at("keys"));
    await page.getByRole("button", { name: "Create key" }).click();
    const dialog = page.getByRole("dialog", { name: "Create key" });
    await dialog.waitFor();
    await page.keyboard.type("typed at once");
    expect(await dialog.getByLabel("Name").inputValue()).toBe("typed at once");
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "hidden" });
    expect(await page.evaluate("document.activeElement.textContent")).toContain("Create key");
    // Notifications are loaded after the screen.
    await expect
      .poll(() => page.evaluate("document.querySelector('[role=region][aria-live=polite]') !== null"))
      .toBe(true);
  });

  test("a long name stays in the sidebar, whose current link is in sight", async () => {
    const name = "Versicherungsgesellschaft für Landwirtschaft und Forsten auf Gegenseitigkeit";
    await portal.gateway.manage("POST", "/workspaces", { slug: "long", name });
    const page = await portal.page("operator", { viewport: { width: 1280, height: 500 } });
    await page.goto(portal.at("settings", "long"));
    const link = page.getByRole("navigation", { name: "Main" }).locator('[aria-current="page"]');
    await page.getByRole("heading", { name: "Settings" }).waitFor();
    const [of, around] = [await link.boundingBox(), await page.getByRole("navigation", { name: "Main" }).boundingBox()];
    if (of === null || around === null) throw new Error("the link or the list is not drawn");
    expect(of.y + of.height).toBeLessThanOrEqual(around.y + around.height);
    expect(of.x + of.width).toBeLessThanOrEqual(240);
  });

  test("the palette opens a request by any id that an answer carries, and screens that others lead to", async () => {
    const { body } = await portal.gateway.call(portal.gateway.key, "/v1/chat/completions", {
      body: { model: "sandbox/chat", messages: [{ role: "user", content: "hello" }] },
    });
    const page = await portal.page("operator");
    await page.goto(portal.at());
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    await page.keyboard.press("Control+k");
    const box = page.getByRole("combobox", { name: "Search and commands" });
    await box.fill("sovereignty levels");
    await page.getByRole("option", { name: /Sovereignty levels/ }).waitFor();
    await box.fill(body.id);
    await page.keyboard.press("Enter");
    await page.waitForURL(portal.at(`requests/${body.id}`));
  });

  test("PORTAL-12 data that could not be refetched is marked with its time", async () => {
    const page = await portal.page("operator", { allow: [/ERR_/] });
    await page.goto(portal.at("settings"));
    await page.getByLabel("Name", { exact: true }).fill("Demo again");
    await page.route("**/manage/**", (route) =>
      route.request().method() === "GET" ? route.abort("failed") : route.fallback(),
    );
    await page.getByRole("button", { name: "Rename" }).click();
    const away = page.getByRole("status").filter({ hasText: "Can't reach the gateway" });
    await away.getByText(/^Showing data from /).waitFor();
    await expectAccessible(page);
    await page.unroute("**/manage/**");
    await away.getByRole("button", { name: "Try again" }).click();
    await away.waitFor({ state: "detached" });
    await page.context().setOffline(true);
    await away.getByText(/^Showing data from /).waitFor();
    await page.context().setOffline(false);
    await away.waitFor({ state: "detached" });
    await portal.gateway.manage("PATCH", "/workspaces/demo", { name: "Demo" });
  });

  test("a screen that can't be loaded shows an error with a retry", async () => {
    const page = await portal.page("operator", {
      allow: [/Failed to load resource|ERR_/, /dynamically imported/, /Can't reach the gateway/],
    });
    await page.goto(portal.at());
    await page.getByRole("navigation", { name: "Main" }).waitFor();
    // Not offline: back online, the screen would load by itself before the click.
    await page.route("**/*", (route) => route.abort());
    const navigation = page.getByRole("navigation", { name: "Main" });
    await navigation.getByRole("button", { name: "Control" }).click();
    await navigation.getByRole("link", { name: "Limits" }).click();
    await page.getByText("Can't reach the gateway").first().waitFor();
    await page.unroute("**/*");
    await page.getByRole("button", { name: "Try again" }).first().click();
    await page.getByRole("heading", { name: "Limits", exact: true }).waitFor();
  });
});

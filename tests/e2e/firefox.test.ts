import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { TestGateway } from "../support/gateway.ts";
import { type Firefox, hasFirefox, startFirefox } from "./support/firefox.ts";
import type { FirefoxPage } from "./support/firefox-page.ts";
import { startPortalGateway } from "./support/portal.ts";

const ADA = { name: "Ada Moreau", email: "ada@example.eu", password: "seven wet otters knit" };
const HOME = "/app/w/demo";

/** The main journeys, in the order of a first day; each test goes on where the one before it ended. */
describe.skipIf(!hasFirefox)("the portal in Firefox", () => {
  let gateway: TestGateway;
  let origin: string;
  let firefox: Firefox;
  let page: FirefoxPage;

  beforeAll(async () => {
    ({ gateway, origin } = await startPortalGateway());
    firefox = await startFirefox(origin);
    ({ page } = firefox);
  });
  afterAll(async () => {
    await firefox?.close();
    await gateway?.close();
  });

  const heading = (name: string | RegExp) => page.find({ role: "heading", name });

  test("PORTAL-01 the set-up link creates the first account; signing out and in again works", async () => {
    const { link } = await gateway.manage("POST", "/setup-link");
    await page.goto(new URL(String(link), origin).href);
    await heading("Set up your gateway");
    await page.fill({ css: 'input[autocomplete="name"]' }, ADA.name);
    await page.fill({ css: 'input[type="email"]' }, ADA.email);
    await page.fill({ css: 'input[type="password"]' }, ADA.password);
    await page.click({ role: "button", name: "Create account" });
    await page.waitForPath(HOME);
    await heading("Send your first request");
    await page.click({ role: "button", name: `Account: ${ADA.name}` });
    await page.click({ role: "menuitem", name: "Sign out" });
    await heading("Sign in");
    await page.goto(`${origin}${HOME}`);
    await heading("Sign in");
    await page.fill({ css: 'input[type="email"]' }, ADA.email);
    await page.fill({ css: 'input[type="password"]' }, ADA.password);
    await page.click({ role: "button", name: "Sign in" });
    await page.waitForPath(HOME);
    await heading("Send your first request");
  });

  test("PORTAL-02 a key is created, shown once and accepted by the gateway", async () => {
    await page.click({ role: "link", name: "Keys" });
    await page.waitForPath(`${HOME}/keys`);
    await page.click({ role: "button", name: "Create key" });
    await page.fill({ css: '[role="dialog"] input[type="text"], [role="dialog"] input:not([type])' }, "backend");
    await page.click({ css: '[role="dialog"] button[type="submit"]' });
    const secret = await page.textOf({ css: '[role="dialog"] [data-secret]' });
    expect(secret).toMatch(/^sk_svc_live_/);
    expect((await gateway.call(secret, "/v1/auth/validate")).status).toBe(200);
    await page.click({ role: "button", name: "I copied the key" });
    await page.find({ role: "link", name: /^backend/ });
    expect(await page.evaluate("document.documentElement.outerHTML")).not.toContain(secret);
  });

  test("PORTAL-09 PORTAL-03 a playground request is answered, listed and opened", async () => {
    await page.goto(`${origin}${HOME}/playground?model=sandbox%2Fchat`);
    await page.fill({ role: "textbox", name: "Prompt" }, "Good morning, sandbox!");
    await page.click({ role: "button", name: "Send" });
    await page.waitForText(/simulated by sandbox-/);
    const { data } = await gateway.manage("GET", "/workspaces/demo/requests?limit=1");
    const [{ id }] = data;
    await page.click({ role: "link", name: "Requests" });
    await page.waitForPath(`${HOME}/requests`);
    await page.click({ css: `main a[href="${HOME}/requests/${id}"]` });
    await page.waitForPath(`${HOME}/requests/${id}`);
    await heading("Attempts");
    await page.waitForText("sandbox/chat");
  });

  test("PORTAL-06 a policy change that removes a model in use asks for confirmation, and is saved", async () => {
    const { key } = await gateway.manage("POST", "/workspaces/demo/keys", { name: "e2e" });
    const body = { model: "sandbox/gemini", messages: [{ role: "user", content: "Hello!" }] };
    expect((await gateway.call(key, "/v1/chat/completions", { body })).status).toBe(200);
    await page.goto(`${origin}${HOME}/policy`);
    await page.waitForText("No rule excludes any endpoint");
    await page.click({ role: "radio", name: /EU\/EEA operation/ });
    await page.waitForText("Models in use become unavailable");
    await page.click({ role: "button", name: "Save policy" });
    await page.click({ role: "button", name: "Save anyway" });
    await page.waitForText("Policy saved");
    expect(await gateway.manage("GET", "/workspaces/demo/policy")).toMatchObject({ floor: "L2" });
  });

  test("PORTAL-12 the dark theme is chosen, and stays after a reload", async () => {
    await page.click({ role: "button", name: /^Theme/ });
    await page.click({ role: "menuitem", name: "Dark" });
    const scheme = () => page.evaluate("getComputedStyle(document.documentElement).colorScheme");
    await expect.poll(scheme).toBe("dark");
    await page.goto(`${origin}${HOME}`);
    await page.find({ css: "main h1" });
    expect(await scheme()).toBe("dark");
    const background = await page.evaluate("getComputedStyle(document.body).backgroundColor");
    expect(background).not.toBe("rgb(255, 255, 255)");
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
  });

  test("PORTAL-23 guides are listed, and search opens a section; no page caused an error", async () => {
    await page.goto(`${origin}/docs/guides`);
    await heading("Guides");
    await page.type("/");
    await page.type("sovereignty_floor");
    await page.find({ role: "option", name: /sovereignty_floor_not_met/ });
    await page.type("\n");
    await page.waitForPath(/^\/docs\/guides\/[\w/-]+$/);
    await page.find({ css: "h1" });
    expect(firefox.problems).toEqual([]);
  });
});

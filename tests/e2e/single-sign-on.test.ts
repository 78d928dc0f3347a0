import type { Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type IdentityProvider, startIdentityProvider } from "../support/oidc.ts";
import { ageSessions } from "../support/people.ts";
import { expectAccessible } from "./support/accessible.ts";
import { addAuthenticator } from "./support/authenticator.ts";
import { hasChromium } from "./support/browser.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

/** The provider's own pages are another origin, and ask for a font from elsewhere. */
const ELSEWHERE = [/127\.0\.0\.1/, /fonts\./, /ERR_FAILED/];

describe.skipIf(!hasChromium)("single sign-on", () => {
  let portal: Portal;
  let provider: IdentityProvider;
  beforeAll(async () => {
    portal = await openPortal(async (origin) => {
      provider = await startIdentityProvider(origin, [
        { sub: "ada", email: "ada@example.eu", email_verified: true, name: "Ada" },
        { sub: "sol", email: "sol@example.eu", email_verified: true, name: "Sol" },
        { sub: "unproven", email: "unproven@example.eu", email_verified: false, name: "Unproven" },
      ]);
      return {
        ...provider.env,
        GATEWAY_OIDC_NAME: "Example ID",
      };
    });
    await portal.person("operator");
  });
  afterAll(async () => {
    await portal?.close();
    await provider?.close();
  });

  const signInAs = async (page: Page, login: string) => {
    await page.route(/fonts\./, (route) => route.abort());
    await page.getByRole("button", { name: "Continue with Example ID" }).click();
    await giveLogin(page, login);
    await page.getByRole("button", { name: /continue/i }).click();
  };
  const giveLogin = async (page: Page, login: string) => {
    await page.locator('input[name="login"]').fill(login);
    await page.locator('input[name="password"]').fill("any");
    await page.getByRole("button", { name: /sign.in/i }).click();
  };
  /** While the provider is away. */
  const trySingleSignOn = async (page: Page) => {
    const json = { error: { code: "service_unavailable", message: "Example ID is away." } };
    await page.route(/sign-in\/social$/, (route) => route.fulfill({ status: 503, json }), { times: 1 });
    await page.getByRole("button", { name: "Continue with Example ID" }).click();
  };

  test("PORTAL-01 the identity provider's word is enough, and one is back where one wanted to go", async () => {
    const page = await portal.page("visitor", { allow: ELSEWHERE });
    await page.goto(portal.at("settings"));
    await page.getByRole("button", { name: "Continue with Example ID" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "single-sign-on");
    await signInAs(page, "ada");
    await page.waitForURL(portal.at("settings"));
  });

  test("PORTAL-01 who has no password proves at the identity provider that it is still them", async () => {
    await portal.gateway.manage("POST", "/workspaces/demo/members", { email: "sol@example.eu" });
    const page = await portal.page("visitor", { allow: [...ELSEWHERE, /status of 403/] });
    await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
    await signInAs(page, "sol");
    await page.getByRole("heading", { name: "Account", exact: true }).waitFor();
    ageSessions(portal.gateway.dataDir, "sol@example.eu");
    const add = async () => {
      await page.getByRole("button", { name: "Add passkey" }).click();
      await page.getByRole("dialog").getByLabel("Name").fill("Sol's laptop");
      await page.getByRole("button", { name: "Continue", exact: true }).click();
    };
    await addAuthenticator(page);
    await add();
    const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
    await dialog.getByText("redirects you back to this page").waitFor();
    expect(await dialog.getByLabel("Password").count()).toBe(0);
    await expectAccessible(page);
    await dialog.getByRole("button", { name: "Continue with Example ID" }).click();
    await giveLogin(page, "sol");
    await page.waitForURL(`${portal.origin}/app/account`);
    await add();
    await page.getByText("Sol's laptop").waitFor();
  });

  test("PORTAL-01 who has a password proves by it or at the identity provider that it is still them", async () => {
    const page = await portal.page("operator", { allow: [...ELSEWHERE, /status of (40[13]|503)/] });
    await page.goto(`${portal.origin}/app/account`);
    ageSessions(portal.gateway.dataDir, (await portal.person("operator")).email);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("A laptop");
    await page.getByRole("button", { name: "Continue", exact: true }).click();
    const dialog = page.getByRole("dialog", { name: "Confirm your identity" });
    await trySingleSignOn(page);
    await dialog.getByText("Example ID is away.").waitFor();
    await dialog.getByLabel("Password").fill("three red bicycles");
    await dialog.getByRole("button", { name: "Continue", exact: true }).click();
    await dialog.getByText("Incorrect password.").waitFor();
    expect(await dialog.getByText("Example ID is away.").count()).toBe(0);
    await dialog.getByText("redirects you back to this page").waitFor();
    await expectAccessible(page);
    await screenshot(page, "still-you");
    await dialog.getByRole("button", { name: "Continue with Example ID" }).click();
    await page.locator('input[name="login"]').waitFor();
  });

  test("PORTAL-01 of several ways to sign in that fail, the last one tried says what is wrong", async () => {
    const page = await portal.page("visitor", { allow: [/status of (401|503)/] });
    await page.goto(`${portal.origin}/app/sign-in?error=access_denied`);
    const before = page.getByText("denied access");
    await before.waitFor();
    await page.getByLabel("Email").fill("unknown@example.eu");
    // What the page was opened with is over as soon as another way is tried.
    const overBefore = async (route: Route) => {
      await before.waitFor({ state: "detached" });
      await route.continue();
    };
    await page.route(/sign-in\/email$/, overBefore, { times: 1 });
    await page.getByLabel("Password", { exact: true }).fill("three red bicycles");
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
    await page.getByText("The email address or password is wrong.").waitFor();
    await trySingleSignOn(page);
    await page.getByText("Example ID is away.").waitFor();
    expect(await page.getByText("The email address or password is wrong.").count()).toBe(0);
  });

  test("PORTAL-01 an address that the provider has not verified is refused, in words", async () => {
    const page = await portal.page("visitor", { allow: ELSEWHERE });
    await page.goto(`${portal.origin}/app/sign-in`);
    await signInAs(page, "unproven");
    await page.getByText("has not verified your email").waitFor();
  });
});

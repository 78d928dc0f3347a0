import { createHmac } from "node:crypto";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ageSessions } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";
import { expectAccessible } from "./support/accessible.ts";
import { addAuthenticator } from "./support/authenticator.ts";
import { hasChromium } from "./support/browser.ts";
import type { Person } from "./support/people.ts";
import { openPortal, type Portal } from "./support/portal.ts";
import { screenshot } from "./support/screenshot.ts";

const GRACE = { email: "grace@example.eu", password: "seven wet otters knit" };
/** Refusals that the tests provoke: the browser prints each. */
const REFUSED = [/status of 40[0134]/];

describe.skipIf(!hasChromium)("people come in", () => {
  let portal: Portal;
  let [ada, bruno, clara]: Person[] = [];
  beforeAll(async () => {
    portal = await openPortal();
    [ada, bruno, clara] = await Promise.all([
      portal.person("operator"),
      portal.person("admin"),
      portal.person("member"),
    ]);
  });
  afterAll(() => portal?.close());

  const signIn = async (page: Page, { email = "", password = "" }: Partial<Person> = {}) => {
    await page.getByLabel("Email").fill(email);
    await page.getByLabel("Password", { exact: true }).fill(password);
    await page.getByRole("button", { name: "Sign in", exact: true }).click();
  };

  test("PORTAL-01 password: a wrong one is refused, the right one leads to where one wanted to go, signing out ends it", async () => {
    const page = await portal.page("visitor", { allow: REFUSED });
    await page.goto(portal.at("settings"));
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "sign-in");
    await signIn(page, { ...ada, password: "not the password" });
    await page.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    await signIn(page, ada);
    await page.waitForURL(portal.at("settings"));
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await page.goto(portal.at("settings"));
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("PORTAL-11 what stands in ?next= never leads to another site", async () => {
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/app/sign-in?next=//evil.example/x`);
    await signIn(page, ada);
    await page.waitForURL(portal.at());
  });

  test("PORTAL-01 second factor: turned on with the app's code, asked at sign-in, a backup code works once", async () => {
    const page = await portal.page("visitor", { allow: REFUSED });
    await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
    await signIn(page, bruno);
    await page.getByRole("heading", { name: "Account" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "account");
    ageSessions(portal.gateway.dataDir, bruno?.email ?? "");
    await page.getByRole("button", { name: "Turn on" }).click();
    await page
      .getByRole("dialog")
      .getByLabel("Password")
      .fill(bruno?.password ?? "");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByRole("img", { name: "QR code for your authenticator app" }).waitFor();
    await screenshot(page, "second-factor");
    const secret = (await page.locator('[data-secret="totp"]').textContent()) ?? "";
    await page.getByLabel("Code", { exact: true }).fill(totp(secret));
    await page.getByRole("dialog").getByRole("button", { name: "Turn on" }).click();
    await page.getByRole("heading", { name: "Save your backup codes" }).waitFor();
    const codes = await page.getByRole("list", { name: "Backup codes" }).getByRole("listitem").allTextContents();
    expect(codes.length).toBeGreaterThan(5);
    await page.getByRole("button", { name: "I saved them" }).click();
    await page.getByRole("button", { name: "Turn off" }).waitFor();

    for (const [at, way] of (["backup", "used"] as const).entries()) {
      const other = await portal.page("visitor", { allow: REFUSED });
      await other.goto(`${portal.origin}/app/sign-in`);
      await signIn(other, bruno);
      await other.getByRole("heading", { name: "Two-factor authentication" }).waitFor();
      if (at === 0) await expectAccessible(other);
      await other.getByRole("button", { name: "Use backup code" }).click();
      await other.getByLabel("Backup code").fill(codes[0] ?? "");
      await other.getByRole("button", { name: "Continue" }).click();
      if (way === "backup") await other.waitForURL(portal.at());
      else await other.getByRole("alert").filter({ hasText: /./ }).first().waitFor();
    }
    await page.getByRole("button", { name: "Turn off" }).click();
    await page
      .getByRole("dialog")
      .getByLabel("Password")
      .fill(bruno?.password ?? "");
    await page.getByRole("dialog").getByRole("button", { name: "Turn off" }).click();
    await page.getByRole("button", { name: "Turn on" }).waitFor();
  });

  test("PORTAL-01 a wrong password of one's own is called so, and no fault of the new one", async () => {
    const page = await portal.page("visitor", { allow: REFUSED });
    await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
    await signIn(page, bruno);
    await page.getByRole("button", { name: "Change password" }).click();
    const change = page.getByRole("dialog", { name: "Change password" });
    await change.getByLabel("Current password").fill("three red bicycles");
    await change.getByLabel("New password").fill("seven green bicycles");
    await change.getByRole("button", { name: "Change password" }).click();
    await change.getByRole("alert").filter({ hasText: "The password is wrong." }).waitFor();
    expect(await change.getByLabel("New password").getAttribute("aria-invalid")).not.toBe("true");
    await page.keyboard.press("Escape");
    ageSessions(portal.gateway.dataDir, bruno?.email ?? "");
    await page.getByRole("button", { name: "Turn on" }).click();
    const turnOn = page.getByRole("dialog", { name: "Turn on two-factor authentication" });
    await turnOn.getByLabel("Password").fill("three red bicycles");
    await turnOn.getByRole("button", { name: "Continue" }).click();
    await turnOn.getByText("Incorrect password.").waitFor();
  });

  test("PORTAL-01 who gives up proving that it is still them stays signed in; a backup code proves it", async () => {
    const page = await portal.page("visitor", { allow: REFUSED });
    await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
    await signIn(page, clara);
    await page.getByRole("heading", { name: "Account", exact: true }).waitFor();
    const post = async (step: string, data: object) => {
      const headers = { origin: portal.origin };
      return (await page.request.post(`${portal.origin}/manage/auth/${step}`, { data, headers })).json();
    };
    const { totpURI, backupCodes } = await post("two-factor/enable", { password: clara?.password });
    await post("two-factor/verify-totp", { code: totpOf(totpURI) });
    ageSessions(portal.gateway.dataDir, clara?.email ?? "");
    await page.reload();
    const ask = async () => {
      await page.getByRole("button", { name: "Generate backup codes" }).click();
      for (const name of ["Generate backup codes", "Confirm your identity"]) {
        const dialog = page.getByRole("dialog", { name });
        await dialog.getByLabel("Password").fill(clara?.password ?? "");
        await dialog.getByRole("button", { name: "Continue" }).click();
      }
    };
    await ask();
    await page.getByLabel("Code", { exact: true }).waitFor();
    await page.keyboard.press("Escape");
    await page.getByText("Nothing was changed.").waitFor();
    await page.reload();
    await ask();
    await page.getByRole("button", { name: "Use backup code" }).click();
    await page.getByLabel("Backup code", { exact: true }).fill(String(backupCodes[0]));
    await expectAccessible(page);
    await page.getByRole("button", { name: "Continue" }).last().click();
    await page.getByRole("heading", { name: "Save your backup codes" }).waitFor();
    await post("two-factor/disable", { password: clara?.password });
  });

  test("PORTAL-01 passkey: added to the account, then it signs in without a password", async () => {
    const page = await portal.page("visitor");
    await addAuthenticator(page);
    await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
    await signIn(page, clara);
    await page.getByRole("button", { name: "Add passkey" }).click();
    await page.getByRole("dialog").getByLabel("Name").fill("Clara's laptop");
    await page.getByRole("button", { name: "Continue" }).click();
    await page.getByText("Clara's laptop").waitFor();
    await page.getByRole("button", { name: /^Account/ }).click();
    await page.getByRole("menuitem", { name: "Sign out" }).click();
    await page.getByRole("button", { name: "Sign in with passkey" }).click();
    await page.waitForURL(portal.at());
  });

  test("PORTAL-01 an invitation creates a member, who sees the workspace in the switcher", async () => {
    const invited = await portal.gateway.manage("POST", "/workspaces/demo/invitations", {
      email: "grace@example.eu",
      role: "member",
    });
    const link = new URL(String(invited["link"]), portal.origin).href;
    const page = await portal.page("visitor", { allow: REFUSED });
    await page.goto(link);
    await page.getByRole("heading", { name: /^Join/ }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "invitation");
    await page.getByLabel("Name").fill("Grace Weber");
    await page.getByLabel("Password").fill(GRACE.password);
    const requested: string[] = [];
    page.on("request", (request) => requested.push(`${request.method()} ${new URL(request.url()).pathname}`));
    await page.getByRole("button", { name: "Create account and join" }).click();
    await page.waitForURL(portal.at());
    await page.getByRole("heading", { name: "Send your first request" }).waitFor();
    expect(requested.filter((one) => one.startsWith("GET /manage/invitations/"))).toEqual([]);
    await page.goto(link);
    await page.getByText("Invitation no longer valid").waitFor();
  });

  test("PORTAL-01 sessions are listed, and one that is ended is out", async () => {
    const [one, two] = [
      await portal.page("visitor", { allow: REFUSED }),
      await portal.page("visitor", { allow: REFUSED }),
    ];
    for (const page of [one, two]) {
      await page.goto(`${portal.origin}/app/sign-in?next=/app/account`);
      await signIn(page, GRACE);
      await page.getByText("This session").waitFor();
    }
    await one.reload();
    await one.getByRole("button", { name: "Sign out all other sessions" }).click();
    await one.getByRole("button", { name: "Sign out all other sessions" }).waitFor({ state: "detached" });
    await two.reload();
    await two.getByRole("heading", { name: "Sign in" }).waitFor();
    await one.reload();
    await one.getByText("This session").waitFor();
    // One that began later is ended once it is proven who asks.
    ageSessions(portal.gateway.dataDir, GRACE.email);
    await signIn(two, GRACE);
    await two.getByText("This session").waitFor();
    await one.reload();
    await one.getByRole("button", { name: "Sign out all other sessions" }).click();
    const dialog = one.getByRole("dialog", { name: "Confirm your identity" });
    await dialog.getByLabel("Password").fill(GRACE.password);
    await dialog.getByRole("button", { name: "Continue" }).click();
    await dialog.waitFor({ state: "detached" });
    await one.getByRole("button", { name: "Sign out all other sessions" }).waitFor({ state: "detached" });
    await two.reload();
    await two.getByRole("heading", { name: "Sign in" }).waitFor();
  });

  test("PORTAL-01 a signed-in person connects a device by its code, and the device gets a session", async () => {
    const requested = await portal.gateway.call("", "/manage/auth/device/code", { body: { client_id: "gateway-cli" } });
    const page = await portal.page("visitor");
    await page.goto(`${portal.origin}/device`);
    await signIn(page, GRACE);
    await page.getByLabel("Code").fill(String(requested.body.user_code).toLowerCase());
    const read = page.waitForRequest(/\/manage\/auth\/device\?/);
    await page.getByRole("button", { name: "Continue" }).click();
    // The header distinguishes portal requests from cross-site requests.
    expect((await read).headers()["x-svc-portal"]).toBe("1");
    await page.getByRole("heading", { name: "Connect this device?" }).waitFor();
    await expectAccessible(page);
    await screenshot(page, "device");
    await page.getByRole("button", { name: "Connect device", exact: true }).click();
    await page.getByRole("heading", { name: "Device connected" }).waitFor();
    const body = {
      grant_type: "urn:ietf:params:oauth:grant-type:device_code",
      device_code: requested.body.device_code,
      client_id: "gateway-cli",
    };
    const token = await portal.gateway.call("", "/manage/auth/device/token", { body });
    expect(token.body.access_token).toEqual(expect.any(String));
  });
});

/** The six digits of now (RFC 6238). */
function totp(secret: string): string {
  const bits = [...secret.replaceAll(/\s|=/g, "")]
    .map((sign) => "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567".indexOf(sign).toString(2).padStart(5, "0"))
    .join("");
  const key = Buffer.from(
    Array.from({ length: Math.floor(bits.length / 8) }, (_, at) => Number.parseInt(bits.slice(at * 8, at * 8 + 8), 2)),
  );
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const digest = createHmac("sha1", key).update(counter).digest();
  const offset = (digest.at(-1) ?? 0) & 15;
  return String((digest.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, "0");
}

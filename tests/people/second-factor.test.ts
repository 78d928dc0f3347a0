import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authenticator } from "../support/authenticator.ts";
import { openBooks } from "../support/books.ts";
import { ageSessions, type Browser, PASSWORD, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";

let gateway: PeopleGateway;
beforeAll(async () => {
  gateway = await peopleGateway();
  await gateway.setUp();
});
afterAll(() => gateway.close());

const signIn = (browser: Browser, email: string) =>
  browser.post("/manage/auth/sign-in/email", { email, password: PASSWORD });

/**
 * A person with an enabled second factor. Each code is valid once, and this uses the current one: the next one is valid
 * as well.
 */
async function secured(email: string) {
  const browser = await gateway.join(email);
  const enabled = await browser.post("/manage/auth/two-factor/enable", { password: PASSWORD });
  expect(enabled.status).toBe(200);
  const { totpURI, backupCodes } = enabled.body;
  expect((await browser.get("/manage/me")).body.person.two_factor).toBe(false);
  expect((await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) })).status).toBe(200);
  expect((await browser.get("/manage/me")).body.person.two_factor).toBe(true);
  return { browser, uri: String(totpURI), codes: backupCodes };
}

const age = (email: string, minutes?: number) => ageSessions(gateway.dataDir, email, minutes);

/** As after single sign-on without a password. */
function withoutPassword(email: string): void {
  const db = openBooks(gateway.dataDir);
  const theirs = "where user_id = (select id from people where email = ?)";
  db.prepare(`update people_accounts set password = null, provider_id = 'oidc' ${theirs}`).run(email);
  db.close();
}

describe("authenticator codes", () => {
  test("PORTAL-01 a password alone does not sign in when the second factor is enabled", async () => {
    const { uri, codes } = await secured("totp@example.eu");
    expect(codes).toHaveLength(10);
    const browser = gateway.browser();
    const half = await signIn(browser, "totp@example.eu");
    expect(half.body).toEqual({ twoFactorRedirect: true, twoFactorMethods: ["totp"] });
    expect((await browser.get("/manage/me")).body.person).toBeNull();
    const wrong = await browser.post("/manage/auth/two-factor/verify-totp", { code: "000000" });
    expect([wrong.status, wrong.body.error.code]).toEqual([401, "invalid_sign_in"]);
    expect((await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri, 1) })).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person.email).toBe("totp@example.eu");
    // A code without the first factor is worthless.
    const alone = await gateway.browser().post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri) });
    expect([alone.status, alone.body.error.code]).toEqual([401, "not_signed_in"]);
  });

  test("PORTAL-01 a backup code works once", async () => {
    const { codes } = await secured("backup@example.eu");
    const [code] = codes;
    const browser = gateway.browser();
    await signIn(browser, "backup@example.eu");
    expect((await browser.post("/manage/auth/two-factor/verify-backup-code", { code })).status).toBe(200);
    const again = gateway.browser();
    await signIn(again, "backup@example.eu");
    expect((await again.post("/manage/auth/two-factor/verify-backup-code", { code })).status).toBe(401);
    expect((await again.get("/manage/me")).body.person).toBeNull();
  });

  test("PORTAL-11 a trusted device needs no code until sessions are ended or the password changes", async () => {
    const { browser, uri, codes } = await secured("trusted@example.eu");
    const needsCode = async () => (await signIn(browser, "trusted@example.eu")).body.twoFactorRedirect === true;
    const trust = async (way: "totp" | "backup-code", code: string) => {
      expect(await needsCode()).toBe(true);
      const body = { code, trustDevice: true };
      expect((await browser.post(`/manage/auth/two-factor/verify-${way}`, body)).status).toBe(200);
      expect(await needsCode()).toBe(false);
    };
    await browser.post("/manage/auth/sign-out");
    await trust("totp", totpOf(uri, 1));
    await browser.ask("DELETE", "/manage/me/sessions");
    await trust("backup-code", codes[0]);
    const body = { currentPassword: PASSWORD, newPassword: "seven green bicycles" };
    expect((await browser.post("/manage/auth/change-password", body)).status).toBe(200);
    const again = await browser.post("/manage/auth/sign-in/email", {
      email: "trusted@example.eu",
      password: "seven green bicycles",
    });
    expect(again.body.twoFactorRedirect).toBe(true);
  });

  test("PORTAL-11 five wrong codes end the sign-in", async () => {
    await secured("guess@example.eu");
    const browser = gateway.browser();
    await signIn(browser, "guess@example.eu");
    const statuses: number[] = [];
    for (let round = 0; round < 7; round += 1)
      statuses.push((await browser.post("/manage/auth/two-factor/verify-totp", { code: `00000${round}` })).status);
    expect(statuses.slice(0, 5)).toEqual([401, 401, 401, 401, 401]);
    expect(statuses[5]).toBe(429);
    expect(statuses[6]).toBe(401);
  });

  test.each(["app", "backup"] as const)(
    "PORTAL-11 reauthentication keeps the session between password and code, and a code completes it: %s",
    async (way) => {
      const email = `again-${way}@example.eu`;
      const { browser, uri, codes } = await secured(email);
      const isFresh = async () => (await browser.get("/manage/me")).body.person?.session.fresh;
      age(email);
      expect((await signIn(browser, email)).body).toMatchObject({ twoFactorRedirect: true });
      expect(await isFresh()).toBe(false);
      const given =
        way === "app"
          ? await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri, 1) })
          : await browser.post("/manage/auth/two-factor/verify-backup-code", { code: codes[0] });
      expect(given.status).toBe(200);
      expect(await isFresh()).toBe(true);
      const { id } = (await browser.get("/manage/me")).body.person;
      const [line] = (await gateway.manage("GET", `/audit?action=person&target=${id}`)).data;
      expect(line.action).toBe("person.sign_in");
    },
  );

  test("PORTAL-11 a code too long after the password is refused, and stays unused", async () => {
    const email = "late@example.eu";
    const { browser, codes } = await secured(email);
    age(email);
    const give = () => browser.post("/manage/auth/two-factor/verify-backup-code", { code: codes[0] });
    await signIn(browser, email);
    // Its ten minutes are over.
    browser.cookies.delete("gateway.two_factor");
    const late = await give();
    expect([late.status, late.body.error?.code]).toEqual([401, "not_signed_in"]);
    expect(late.body.error.message).toContain("took too long");
    expect((await browser.get("/manage/me")).body.person.session.fresh).toBe(false);
    await signIn(browser, email);
    expect((await give()).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person.session.fresh).toBe(true);
  });

  test("PORTAL-11 another person's password, with a code pending, ends the existing session", async () => {
    await secured("other@example.eu");
    const browser = await gateway.join("leaves@example.eu");
    expect((await signIn(browser, "other@example.eu")).body).toMatchObject({ twoFactorRedirect: true });
    expect((await browser.get("/manage/me")).body.person).toBeNull();
  });

  test("PORTAL-11 removing it needs a recent sign-in and the password; the operator can remove a lost one", async () => {
    const { browser } = await secured("off@example.eu");
    age("off@example.eu");
    for (const path of [
      "two-factor/disable",
      "two-factor/enable",
      "two-factor/generate-backup-codes",
      "passkey/generate-register-options",
      "passkey/verify-registration",
      "passkey/delete-passkey",
      "change-password",
      "device/approve",
    ]) {
      const method = path.endsWith("options") ? "GET" : "POST";
      const stale = await browser.ask(method, `/manage/auth/${path}`);
      expect([path, stale.status, stale.body.error?.code]).toEqual([path, 403, "fresh_sign_in_needed"]);
    }
    expect((await browser.get("/manage/me")).body.person.session.fresh).toBe(false);
    const { data } = await gateway.manage("GET", "/people?limit=1000");
    const { id, two_factor } = data.find(({ email }: { email: string }) => email === "off@example.eu");
    expect(two_factor).toBe(true);
    expect((await gateway.manage("DELETE", `/people/${id}/second-factor`)).two_factor).toBe(false);
    const fresh = gateway.browser();
    expect((await signIn(fresh, "off@example.eu")).body.user.email).toBe("off@example.eu");
    const on = await fresh.post("/manage/auth/two-factor/enable", { password: PASSWORD });
    await fresh.post("/manage/auth/two-factor/verify-totp", { code: totpOf(on.body.totpURI) });
    expect((await fresh.post("/manage/auth/two-factor/disable", { password: "another one" })).status).toBe(400);
    expect((await fresh.post("/manage/auth/two-factor/disable", { password: PASSWORD })).status).toBe(200);
    expect((await fresh.get("/manage/me")).body.person.two_factor).toBe(false);
    const lines = (await gateway.manage("GET", `/audit?action=person&target=${id}`)).data;
    expect(lines.map(({ action }: { action: string }) => action).slice(0, 4)).toEqual([
      "person.second_factor_off",
      "person.second_factor_on",
      "person.sign_in",
      "person.second_factor_drop",
    ]);
  });

  test("PORTAL-11 an old session does not become recent by a new password, which it cannot set either", async () => {
    const email = "renews@example.eu";
    const { browser, uri } = await secured(email);
    const change = (currentPassword: string, newPassword: string) =>
      browser.post("/manage/auth/change-password", { currentPassword, newPassword });
    const session = async () => (await browser.get("/manage/me")).body.person.session;
    age(email);
    const stale = await change(PASSWORD, "four blue submarines");
    expect([stale.status, stale.body.error?.code]).toEqual([403, "fresh_sign_in_needed"]);
    expect((await session()).fresh).toBe(false);

    await signIn(browser, email);
    expect((await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri, 1) })).status).toBe(200);
    age(email, 14);
    const { created_at } = await session();
    expect((await change(PASSWORD, "four blue submarines")).status).toBe(200);
    expect((await session()).created_at).toBe(created_at);
    age(email);
    const off = await browser.post("/manage/auth/two-factor/disable", { password: "four blue submarines" });
    expect([off.status, off.body.error.code]).toEqual([403, "fresh_sign_in_needed"]);
  });
});

describe("an account without a password", () => {
  const sessionOf = async (browser: Browser) => (await browser.get("/manage/me")).body.person.session;

  test("PORTAL-11 an old session does not become recent by a second factor", async () => {
    const browser = await gateway.join("single@example.eu");
    withoutPassword("single@example.eu");
    age("single@example.eu", 14);
    const { created_at } = await sessionOf(browser);
    const { totpURI } = (await browser.post("/manage/auth/two-factor/enable")).body;
    expect((await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) })).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person.two_factor).toBe(true);
    expect((await sessionOf(browser)).created_at).toBe(created_at);
    expect((await browser.post("/manage/auth/two-factor/disable")).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person.two_factor).toBe(false);
    expect((await sessionOf(browser)).created_at).toBe(created_at);

    age("single@example.eu");
    const stale = await browser.post("/manage/auth/two-factor/enable");
    expect([stale.status, stale.body.error.code]).toEqual([403, "fresh_sign_in_needed"]);
  });
});

describe("passkeys", () => {
  const register = async (browser: Browser, device: Authenticator, name = "Laptop") => {
    const options = await browser.get("/manage/auth/passkey/generate-register-options");
    expect(options.body.authenticatorSelection).toMatchObject({
      userVerification: "required",
      residentKey: "required",
    });
    const response = device.register(options.body.challenge);
    return browser.post("/manage/auth/passkey/verify-registration", { response, name });
  };
  const useIt = async (browser: Browser, device: Authenticator, flags?: number) => {
    const options = await browser.get("/manage/auth/passkey/generate-authenticate-options");
    const response = device.authenticate(options.body.challenge, flags);
    return { answer: await browser.post("/manage/auth/passkey/verify-authentication", { response }), response };
  };

  test("PORTAL-01 a passkey signs in, is listed, and is removed only after a recent sign-in", async () => {
    const browser = await gateway.join("key@example.eu");
    const device = new Authenticator("localhost", gateway.url);
    expect((await register(browser, device)).status).toBe(200);
    const { data } = (await browser.get("/manage/me/passkeys")).body;
    expect(data).toMatchObject([{ name: "Laptop" }]);
    expect((await browser.get("/manage/me")).body.person.passkeys).toBe(1);
    const other = gateway.browser();
    const { answer, response } = await useIt(other, device);
    expect(answer.status).toBe(200);
    expect((await other.get("/manage/me")).body.person.email).toBe("key@example.eu");
    // A used challenge is worthless.
    const replayed = await gateway.browser().post("/manage/auth/passkey/verify-authentication", { response });
    expect(replayed.status).toBe(401);
    const stranger = await gateway.join("not-mine@example.eu");
    const theirs = await stranger.post("/manage/auth/passkey/delete-passkey", { id: data[0].id });
    expect(theirs.status).toBe(401);
    age("key@example.eu");
    const stale = await other.post("/manage/auth/passkey/delete-passkey", { id: data[0].id });
    expect([stale.status, stale.body.error.code]).toEqual([403, "fresh_sign_in_needed"]);
    await useIt(other, device);
    expect((await other.get("/manage/me")).body.person.session.fresh).toBe(true);
    await signIn(browser, "key@example.eu");
    expect((await browser.post("/manage/auth/passkey/delete-passkey", { id: data[0].id })).status).toBe(200);
    expect((await useIt(gateway.browser(), device)).answer.status).toBe(401);
  });

  test("PORTAL-11 another person's recent sign-in does not make an old session recent", async () => {
    const device = new Authenticator("localhost", gateway.url);
    const owner = await gateway.join("stale@example.eu");
    await register(owner, device);
    age("stale@example.eu");
    const thief = await gateway.join("fresh@example.eu");
    const [name = "", mine = ""] = [...thief.cookies].find(([one]) => one.endsWith("session_token")) ?? [];
    const stolen = owner.cookies.get(name) ?? "";
    const { data } = (await owner.get("/manage/me/passkeys")).body;
    const remove = (headers: Record<string, string>) =>
      gateway.browser().ask("POST", "/manage/auth/passkey/delete-passkey", { id: data[0].id }, headers);
    const bearer = decodeURIComponent(mine).split(".")[0] ?? "";
    await remove({ cookie: `${name}=${stolen}`, authorization: `Bearer ${bearer}` });
    await remove({ cookie: `${name}=${mine}; ${name}=${stolen}` });
    await remove({ cookie: `${name}=${stolen}; ${name}=${mine}` });
    await remove({ cookie: `${name} =${stolen}; ${name}=${mine}` });
    expect((await owner.get("/manage/me/passkeys")).body.data).toHaveLength(1);
  });

  test("PORTAL-11 a passkey without user verification does not sign in", async () => {
    const browser = await gateway.join("touch@example.eu");
    const device = new Authenticator("localhost", gateway.url);
    await register(browser, device);
    const { answer } = await useIt(gateway.browser(), device, 0x01);
    expect([answer.status, answer.body.error.code]).toEqual([401, "invalid_sign_in"]);
    const elsewhere = new Authenticator("localhost", "https://evil.example");
    await register(browser, elsewhere).then(({ status }) => expect(status).toBeGreaterThanOrEqual(400));
  });
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { Authenticator, addPasskey, byPasskey } from "../support/authenticator.ts";
import { type Browser, PASSWORD, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { watchWrites } from "../support/people-writes.ts";
import { totpOf } from "../support/totp.ts";

let gateway: PeopleGateway;
const nothing = async (): Promise<void> => {};
/** Hooks that run before the library reads or writes, such as "create passkey". */
let writing: (what: string) => Promise<void> = nothing;

beforeAll(async () => {
  gateway = await peopleGateway({ prepare: async (store) => watchWrites(store, (what) => writing(what)) });
  await gateway.setUp();
});
afterAll(() => gateway.close());

function onceBefore(what: string, meanwhile: () => Promise<unknown>): void {
  writing = async (now) => {
    if (now !== what) return;
    writing = nothing;
    await meanwhile();
  };
}

const deviceHere = () => new Authenticator("localhost", gateway.url);
const isSignedOut = async (browser: Browser) => (await browser.get("/manage/me")).body.person === null;

test("PORTAL-11 revoking a passkey ends its sign-in in flight, and no other", async () => {
  const email = "loses-a-passkey@example.eu";
  const person = await gateway.join(email);
  const [lost, kept] = [deviceHere(), deviceHere()];
  await addPasskey(person, lost);
  const { id } = (await person.get("/manage/me/passkeys")).body.data[0];
  await addPasskey(person, kept);
  const [thief, other] = [gateway.browser(), gateway.browser()];
  onceBefore("create session", async () => {
    expect((await person.post("/manage/auth/passkey/delete-passkey", { id })).status).toBe(200);
    expect((await byPasskey(other, kept)).status).toBe(200);
  });
  const answer = await byPasskey(thief, lost);
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  expect([await isSignedOut(thief), await isSignedOut(other)]).toEqual([true, false]);
});

test("PORTAL-11 a passkey is not added once the adding session is signed out", async () => {
  const email = "adds-and-leaves@example.eu";
  const [person, tab, other] = [await gateway.join(email), gateway.browser(), gateway.browser()];
  for (const [name, value] of person.cookies) tab.cookies.set(name, value);
  await other.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
  const { body: options } = await person.get("/manage/auth/passkey/generate-register-options?name=laptop");
  const response = deviceHere().register(options.challenge);
  onceBefore("create passkey", () => tab.post("/manage/auth/sign-out"));
  const answer = await person.post("/manage/auth/passkey/verify-registration", { response, name: "laptop" });
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  expect((await other.get("/manage/me/passkeys")).body.data).toEqual([]);
});

test("PORTAL-11 a device is not approved once the approving session is signed out", async () => {
  const [person, tab, device] = [
    await gateway.join("allows-and-leaves@example.eu"),
    gateway.browser(),
    gateway.browser(),
  ];
  for (const [name, value] of person.cookies) tab.cookies.set(name, value);
  const client = { client_id: "gateway-cli" };
  const { user_code, device_code } = (await device.post("/manage/auth/device/code", client)).body;
  await person.get(`/manage/auth/device?user_code=${user_code}`);
  onceBefore("update deviceCode", () => tab.post("/manage/auth/sign-out"));
  const answer = await person.post("/manage/auth/device/approve", { userCode: user_code });
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  const grant = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code, ...client };
  const taken = await device.post("/manage/auth/device/token", grant);
  expect([taken.status, taken.body.error]).toEqual([400, "authorization_pending"]);
});

const NEW_PASSWORD = "seven green bicycles";
/** Which session is ended while it changes its second factor: the same one in another tab, or another one. */
const ENDINGS = {
  "signed out": (tab: Browser) => tab.post("/manage/auth/sign-out"),
  "ended with all others": (_: Browser, other: Browser) => other.ask("DELETE", "/manage/me/sessions"),
  "ended by a new password": (_: Browser, other: Browser) =>
    other.post("/manage/auth/change-password", { currentPassword: PASSWORD, newPassword: NEW_PASSWORD }),
};

/** The library step before which the session ends, and whether the factor is enabled then. */
const SWITCHES: readonly ["on" | "off", keyof typeof ENDINGS, string, "on" | "off"][] = [
  ["on", "signed out", "findOne twoFactor", "off"],
  ["on", "ended by a new password", "findOne twoFactor", "off"],
  ["on", "signed out", "update user", "on"],
  ["on", "signed out", "create session", "on"],
  ["on", "ended with all others", "create session", "on"],
  ["on", "ended by a new password", "update twoFactor", "on"],
  ["off", "signed out", "findOne account", "on"],
  ["off", "ended with all others", "findOne account", "on"],
  ["off", "signed out", "delete twoFactor", "off"],
  ["off", "ended with all others", "update user", "off"],
  ["off", "ended by a new password", "create session", "off"],
];

let people = 0;

/** A person with one session in two tabs, another session, and a second factor that awaits its first code. */
async function twoSessions() {
  people += 1;
  const email = `switches-${people}@example.eu`;
  const [person, tab, other] = [await gateway.join(email), gateway.browser(), gateway.browser()];
  await other.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
  const { totpURI: uri, backupCodes } = (await person.post("/manage/auth/two-factor/enable", { password: PASSWORD }))
    .body;
  const confirm = () => person.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri) });
  const share = () => {
    for (const [name, value] of person.cookies) tab.cookies.set(name, value);
  };
  return { email, person, tab, other, uri: String(uri), codes: backupCodes, confirm, share };
}

/** Whether a second factor is enabled; if so, its next code signs in, because each code is valid once. */
async function factorOf(email: string, uri: string, password: string): Promise<"on" | "off"> {
  const browser = gateway.browser();
  const half = await browser.post("/manage/auth/sign-in/email", { email, password });
  expect(half.status).toBe(200);
  if (half.body.twoFactorRedirect === true)
    await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri, 1) });
  const { person } = (await browser.get("/manage/me")).body;
  expect(person?.two_factor).toBe(half.body.twoFactorRedirect === true);
  return person?.two_factor === true ? "on" : "off";
}

test.each(SWITCHES)(
  "PORTAL-11 changing the second factor %s ends with the session and stays atomic: %s before %s",
  async (to, ending, step, is) => {
    const { email, person, tab, other, uri, confirm, share } = await twoSessions();
    if (to === "off") expect((await confirm()).status).toBe(200);
    share();
    onceBefore(step, async () => expect((await ENDINGS[ending](tab, other)).status).toBe(200));
    const answer =
      to === "on" ? await confirm() : await person.post("/manage/auth/two-factor/disable", { password: PASSWORD });
    expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
    expect(await isSignedOut(person)).toBe(true);
    const password = ending === "ended by a new password" ? NEW_PASSWORD : PASSWORD;
    expect(await factorOf(email, uri, password)).toBe(is);
  },
);

test("PORTAL-11 of two second factors that are added concurrently, the last one counts", async () => {
  const email = "adds-two@example.eu";
  const person = await gateway.join(email);
  const add = async () => (await person.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body.totpURI;
  let first = "";
  onceBefore("create twoFactor", async () => {
    first = await add();
  });
  const last = await add();
  const confirm = async (uri: string) =>
    (await person.post("/manage/auth/two-factor/verify-totp", { code: totpOf(uri) })).status;
  expect([writing, await confirm(first), await confirm(last)]).toEqual([nothing, 401, 200]);
  expect(await factorOf(email, last, PASSWORD)).toBe("on");
});

test("PORTAL-11 a replaced second factor's code does not enable its replacement", async () => {
  const { email, other, uri, confirm } = await twoSessions();
  let second = "";
  onceBefore("after findOne twoFactor", async () => {
    second = (await other.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body.totpURI;
  });
  const answer = await confirm();
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  expect(await factorOf(email, uri, PASSWORD)).toBe("off");
  expect((await other.post("/manage/auth/two-factor/verify-totp", { code: totpOf(second) })).status).toBe(200);
  expect(await factorOf(email, second, PASSWORD)).toBe("on");
});

test("PORTAL-11 an enabled second factor is not changed by a session that was adding another", async () => {
  const { email, other, uri, confirm } = await twoSessions();
  onceBefore("update twoFactor", async () => expect((await confirm()).status).toBe(200));
  const answer = await other.post("/manage/auth/two-factor/enable", { password: PASSWORD });
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  expect(await factorOf(email, uri, PASSWORD)).toBe("on");
});

test("PORTAL-11 a session that is signed out meanwhile adds no factor, backup codes or password", async () => {
  const { email, person, tab, other, uri, codes, confirm, share } = await twoSessions();
  const signedOutBefore = async (step: string, path: string, body: object) => {
    share();
    onceBefore(step, () => tab.post("/manage/auth/sign-out"));
    const answer = await person.post(`/manage/auth/${path}`, body);
    expect([path, writing, answer.status, answer.body.error?.code]).toEqual([path, nothing, 401, "not_signed_in"]);
    expect(await isSignedOut(person)).toBe(true);
    for (const [name, value] of other.cookies) person.cookies.set(name, value);
    await other.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
  };
  await signedOutBefore("update twoFactor", "two-factor/enable", { password: PASSWORD });
  const change = { currentPassword: PASSWORD, newPassword: NEW_PASSWORD };
  await signedOutBefore("findOne account", "change-password", change);
  // The first factor still awaits its code.
  expect((await confirm()).status).toBe(200);
  share();
  onceBefore("update twoFactor", () => tab.post("/manage/auth/sign-out"));
  const made = await person.post("/manage/auth/two-factor/generate-backup-codes", { password: PASSWORD });
  expect([writing, made.status, made.body.error?.code]).toEqual([nothing, 401, "not_signed_in"]);
  const again = gateway.browser();
  await again.post("/manage/auth/sign-in/email", { email, password: PASSWORD });
  expect((await again.post("/manage/auth/two-factor/verify-backup-code", { code: codes[0] })).status).toBe(200);
  expect(await factorOf(email, uri, PASSWORD)).toBe("on");
});

import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { MutationLock } from "../../src/app/manage/mutation-lock.ts";
import { eventually } from "../support/eventually.ts";
import { type IdentityProvider, proven, startIdentityProvider } from "../support/oidc.ts";
import {
  type Browser,
  type BrowserResponse,
  PASSWORD,
  type PeopleGateway,
  peopleGateway,
  tokenOf,
} from "../support/people.ts";
import { watchWrites } from "../support/people-writes.ts";
import { totpOf } from "../support/totp.ts";
import { unusedPort } from "../support/upstream.ts";

let provider: IdentityProvider;
let gateway: PeopleGateway;
let owner: Browser;
const nothing = async (): Promise<void> => {};
/** Hooks that run before a change is written. */
let before = nothing;
/** Hooks that run before a person is read. */
let looking = nothing;
/** Hooks that run before the library writes, such as "update account". */
let writing: (what: string) => Promise<void> = nothing;

beforeAll(async () => {
  const known = proven("waits", "meanwhile", "accepts", "changes", "link", "device", "device-2", "returns");
  provider = await startIdentityProvider(`http://127.0.0.1:${await unusedPort()}`, known);
  gateway = await peopleGateway({
    env: { ...provider.env, GATEWAY_SIGN_IN_ADDRESS_TRIES: "1000" },
    prepare: async (store) => {
      const { change, people } = store;
      watchWrites(store, (what) => writing(what));
      const { person } = people;
      people.person = async (id) => {
        await looking();
        return person(id);
      };
      store.change = async (work) => {
        await before();
        return change(work);
      };
    },
  });
  owner = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "second" });
});
afterAll(async () => {
  await gateway.close();
  await provider.close();
});

const MEMBERS = "/manage/workspaces/demo/members";
const INVITATIONS = "/manage/workspaces/demo/invitations";
const TOKENS = "/manage/workspaces/demo/tokens";
const TOKEN = { name: "program", access: "write" };

async function personOf(email: string) {
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  return data.find((one: { email: string }) => one.email === email);
}

type Revocation = (email: string, id: string) => Promise<BrowserResponse>;
const WAYS: [string, string, boolean, Revocation][] = [
  ["removed", "demo", false, (email) => owner.ask("DELETE", `${MEMBERS}/${email}`)],
  ["lowered", "demo", false, (email) => owner.ask("PATCH", `${MEMBERS}/${email}`, { role: "admin" })],
  ["disabled", "demo", false, (_, id) => owner.post(`/manage/people/${id}/disable`, { disabled: true })],
  ["erased", "demo", false, (_, id) => owner.post(`/manage/people/${id}/erase`)],
  ["no-operator", "second", true, (_, id) => owner.post(`/manage/people/${id}/operator`, { operator: false })],
];

/** Queues the requests of `ask` behind the change that `lose` makes; some may be refused before they reach the lock. */
async function waitingBehind(
  lose: () => Promise<BrowserResponse>,
  ask: () => Promise<BrowserResponse>[],
): Promise<[BrowserResponse, BrowserResponse[]]> {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  before = () => {
    begun.resolve();
    return gate.promise;
  };
  const losing = lose();
  await begun.promise;
  const queued = vi.spyOn(MutationLock.prototype, "run");
  let refused = 0;
  const asking = ask().map(async (one) => {
    const answer = await one;
    refused += 1;
    return answer;
  });
  try {
    await eventually(() => expect(queued.mock.calls.length + refused).toBe(asking.length));
  } finally {
    queued.mockRestore();
    before = nothing;
    gate.resolve();
  }
  return [await losing, await Promise.all(asking)];
}

test.each(WAYS)(
  "PORTAL-11 a queued change is not made when its author is %s meanwhile",
  async (is, home, operator, lose) => {
    const email = `${is}@example.eu`;
    const browser = await gateway.join(email, "owner", home);
    const { id } = await personOf(email);
    if (operator) await gateway.manage("POST", `/people/${id}/operator`, { operator });
    const { token } = (await browser.post(TOKENS, TOKEN)).body;
    const friend = (name: string) => ({ email: `${name}-of-${is}@example.eu`, role: "admin" });
    const [lost, [byToken, ...responses]] = await waitingBehind(
      () => lose(email, id),
      () => [
        gateway.call(token, MEMBERS, { body: friend("program") }),
        browser.ask("PATCH", `${MEMBERS}/${email}`, { role: "owner" }),
        browser.post(MEMBERS, friend("other")),
        browser.post(INVITATIONS, friend("invited")),
        browser.post("/manage/workspaces/demo/keys", { name: "own", environment: "live" }),
        browser.post(TOKENS, TOKEN),
        browser.post(`/manage/people/${id}/operator`, { operator: true }),
        browser.post("/manage/workspaces/demo/wallet/credits", { amount: "1000" }),
      ],
    );
    expect([lost.status, byToken?.status, byToken?.body.error?.code]).toEqual([200, 401, "invalid_admin_token"]);
    expect(responses.map(({ status, body }) => [status, body.error?.code])).toEqual(
      responses.map(() => [403, "insufficient_role"]),
    );
  },
);

/** An account in the name of a person who is about to return from single sign-on. */
async function squatted(sub: string, role = "owner") {
  const [email, mallory] = [`${sub}@example.eu`, await gateway.join(`mallory-of-${sub}@example.eu`, "owner")];
  const { link } = (await mallory.post(INVITATIONS, { email, role })).body;
  const squatter = gateway.browser();
  const account = { name: "Mallory", password: PASSWORD };
  expect((await squatter.post(`/manage/invitations/${tokenOf(link)}/accept`, account)).status).toBe(200);
  const { browser: victim, returnFromProvider } = await throughProvider(sub);
  return { email, mallory, squatter, victim, returnFromProvider };
}

/** A person who is about to return from single sign-on. */
async function throughProvider(sub: string) {
  const browser = gateway.browser();
  const { url } = (await browser.post("/manage/auth/sign-in/social", { provider: "oidc", callbackURL: "/app" })).body;
  const back = new URL(await provider.signIn(url, sub));
  return { browser, returnFromProvider: () => browser.get(`${back.pathname}${back.search}`) };
}

test("PORTAL-11 a queued change is not made when the account is reset meanwhile", async () => {
  const { squatter, returnFromProvider } = await squatted("waits");
  const friend = { email: "friend-of-squatter@example.eu", role: "admin" };
  const colleague = "colleague@example.eu";
  await gateway.join(colleague);
  const { id } = (await owner.post(INVITATIONS, { email: "awaited@example.eu" })).body;
  const [came, responses] = await waitingBehind(returnFromProvider, () => [
    squatter.post(TOKENS, TOKEN),
    squatter.post(MEMBERS, friend),
    squatter.post(INVITATIONS, friend),
    squatter.ask("DELETE", `${INVITATIONS}/${id}`),
    squatter.post(`${MEMBERS}/${colleague}/reset-link`),
  ]);
  expect([came.status, came.headers.get("location")]).toEqual([302, "/app"]);
  expect(responses.map(({ status, body }) => [status, body.error?.code])).toEqual(
    responses.map(() => [401, "not_signed_in"]),
  );
});

test("PORTAL-11 an invitation is not accepted by a session that ended while it was queued", async () => {
  const { email, squatter, returnFromProvider } = await squatted("accepts");
  const { link } = await gateway.manage("POST", "/workspaces/second/invitations", { email, role: "member" });
  const accept = () => [squatter.post(`/manage/invitations/${tokenOf(link)}/accept`, {})];
  const [came, [accepted]] = await waitingBehind(returnFromProvider, accept);
  expect(came.status).toBe(302);
  expect([accepted?.status, accepted?.body.error?.code]).toEqual([401, "not_signed_in"]);
});

const OVER = [401, "not_signed_in"];
const NEW_PASSWORD = "nine yellow bicycles";
const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.post("/manage/auth/sign-in/email", { email, password });
const changePassword = (browser: Browser, newPassword: string) =>
  browser.post("/manage/auth/change-password", { currentPassword: PASSWORD, newPassword });
const reset = (link: string) =>
  gateway.browser().post("/manage/auth/reset-password", { newPassword: NEW_PASSWORD, token: tokenOf(link) });
const isSignedOut = async (browser: Browser) => (await browser.get("/manage/me")).body.person === null;
const sessionOf = async (browser: Browser) => (await browser.get("/manage/me")).body.person.session.id;

/** Runs once, before the library writes. */
function onceBefore(what: string, meanwhile: () => Promise<unknown>): void {
  writing = async (now) => {
    if (now !== what) return;
    writing = nothing;
    await meanwhile();
  };
}

/** An approved device; returns how it then requests its session. */
async function allowed(person: Browser): Promise<(device: Browser) => Promise<BrowserResponse>> {
  const client_id = "gateway-cli";
  const { user_code, device_code } = (await gateway.browser().post("/manage/auth/device/code", { client_id })).body;
  await person.get(`/manage/auth/device?user_code=${user_code}`);
  expect((await person.post("/manage/auth/device/approve", { userCode: user_code })).status).toBe(200);
  const grant = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code, client_id };
  return (device) => device.post("/manage/auth/device/token", grant);
}

/** Runs once while a call is in flight that has passed its checks and is about to create a session. */
async function whileInFlight(
  ask: () => Promise<BrowserResponse>,
  meanwhile: () => Promise<unknown>,
): Promise<BrowserResponse> {
  looking = async () => {
    looking = nothing;
    await meanwhile();
  };
  const answer = await ask();
  expect(looking).toBe(nothing);
  return answer;
}

test("PORTAL-11 a correct password does not sign in when the account is reset meanwhile", async () => {
  const { email, victim, returnFromProvider } = await squatted("meanwhile");
  const browser = gateway.browser();
  const answer = await whileInFlight(() => signIn(browser, email), returnFromProvider);
  expect([answer.status, answer.body.error?.code]).toEqual(OVER);
  expect([await isSignedOut(browser), await isSignedOut(victim)]).toEqual([true, false]);
});

test("PORTAL-11 nor does a new password in flight", async () => {
  const { email, squatter, victim, returnFromProvider } = await squatted("changes");
  const answer = await whileInFlight(() => changePassword(squatter, NEW_PASSWORD), returnFromProvider);
  expect([answer.status, answer.body.error?.code]).toEqual(OVER);
  expect([await isSignedOut(squatter), await isSignedOut(victim)]).toEqual([true, false]);
  expect((await signIn(gateway.browser(), email, NEW_PASSWORD)).status).toBe(401);
});

test("PORTAL-11 nor does a queued password reset link", async () => {
  const { email, mallory, victim, returnFromProvider } = await squatted("link", "member");
  const { link } = (await mallory.post(`${MEMBERS}/${email}/reset-link`)).body;
  const [, [answer]] = await waitingBehind(returnFromProvider, () => [reset(link)]);
  expect([answer?.status, answer?.body.error?.param]).toEqual([400, "token"]);
  expect((await signIn(gateway.browser(), email, NEW_PASSWORD)).status).toBe(401);
  expect(await isSignedOut(victim)).toBe(false);
});

test.each([
  ["device", "no person"],
  ["device-2", "another person"],
])("PORTAL-11 nor does an approved device (%s) that asks with the session of %s", async (sub, by) => {
  const { email, squatter, mallory, victim, returnFromProvider } = await squatted(sub);
  const ask = await allowed(squatter);
  const answer = await whileInFlight(() => ask(by === "no person" ? gateway.browser() : mallory), returnFromProvider);
  expect([answer.status, answer.body.access_token]).toEqual([401, undefined]);
  // The legitimate person continues.
  const { access_token } = (await (await allowed(victim))(gateway.browser())).body;
  const device = gateway.browser({ authorization: `Bearer ${access_token}` });
  expect((await device.get("/manage/me")).body.person.email).toBe(email);
});

type Ending = (email: string, id: string, browser: Browser) => Promise<BrowserResponse>;
const ENDINGS: [string, Ending][] = [
  ["a new password by a link", async (_, id) => reset((await owner.post(`/manage/people/${id}/reset-link`)).body.link)],
  ["a new password", (_email, _id, browser) => changePassword(browser, NEW_PASSWORD)],
  ["the end of all other sessions", (_email, _id, browser) => browser.ask("DELETE", "/manage/me/sessions")],
  [
    "the end of another session",
    async (email, _id, browser) => {
      const other = gateway.browser();
      await signIn(other, email);
      return browser.ask("DELETE", `/manage/me/sessions/${await sessionOf(other)}`);
    },
  ],
  ["the end of all sessions", (_, id) => owner.ask("DELETE", `/manage/people/${id}/sessions`)],
];

test.each(ENDINGS)("PORTAL-11 a sign-in in flight does not survive %s", async (name, end) => {
  const email = `${name.replaceAll(" ", "-")}@example.eu`;
  const [browser, thief] = [await gateway.join(email), gateway.browser()];
  const { id } = await personOf(email);
  await signIn(gateway.browser(), email);
  const answer = await whileInFlight(
    () => signIn(thief, email),
    async () => expect((await end(email, id, browser)).status).toBe(200),
  );
  expect([answer.status, answer.body.error?.code, await isSignedOut(thief)]).toEqual([...OVER, true]);
});

test("PORTAL-11 nor does a single sign-on, which returns to the sign-in page", async () => {
  const email = "returns@example.eu";
  await gateway.join(email);
  const { id } = await personOf(email);
  const { browser, returnFromProvider } = await throughProvider("returns");
  const answer = await whileInFlight(returnFromProvider, () => owner.ask("DELETE", `/manage/people/${id}/sessions`));
  expect([answer.status, await isSignedOut(browser)]).toEqual([302, true]);
  expect(answer.headers.get("location")).toMatch(/\/app\/sign-in\?error=/);
});

test.each(["before", "while"])(
  "PORTAL-11 a password change does not survive a reset link that is used %s it is written",
  async (when) => {
    const email = `used-${when}@example.eu`;
    const thief = await gateway.join(email);
    const { id } = await personOf(email);
    const meanwhile = async () => {
      before = nothing;
      const { link } = await gateway.manage("POST", `/people/${id}/reset-link`);
      expect((await reset(link)).status).toBe(200);
    };
    if (when === "before") before = meanwhile;
    else onceBefore("update account", meanwhile);
    const answer = await changePassword(thief, "thief has the bicycles");
    expect([before, writing, answer.status, answer.body.error?.code]).toEqual([nothing, nothing, ...OVER]);
    expect(await isSignedOut(thief)).toBe(true);
    expect((await signIn(gateway.browser(), email, "thief has the bicycles")).status).toBe(401);
    expect((await signIn(gateway.browser(), email, NEW_PASSWORD)).status).toBe(200);
  },
);

test("PORTAL-11 a session that repeatedly ends other sessions cannot prevent sign-ins", async () => {
  const email = "ends-nothing@example.eu";
  const thief = await gateway.join(email);
  const answer = await whileInFlight(
    () => signIn(gateway.browser(), email),
    async () => expect((await thief.ask("DELETE", "/manage/me/sessions")).body).toEqual({ ended: 0 }),
  );
  expect(answer.status).toBe(200);
});

test("PORTAL-11 a correct password that comes too late is no failed attempt", async () => {
  const email = "right-and-late@example.eu";
  await gateway.join(email);
  const { id } = await personOf(email);
  for (let tries = 0; tries < 11; tries += 1) {
    const end = () => owner.ask("DELETE", `/manage/people/${id}/sessions`);
    expect((await whileInFlight(() => signIn(gateway.browser(), email), end)).status).toBe(401);
  }
  expect((await signIn(gateway.browser(), email)).status).toBe(200);
});

test("PORTAL-11 a session that ends revokes the device it has approved", async () => {
  const email = "allows@example.eu";
  const [person, thief] = [await gateway.join(email), gateway.browser()];
  await signIn(thief, email);
  const ask = await allowed(thief);
  expect((await person.ask("DELETE", `/manage/me/sessions/${await sessionOf(thief)}`)).status).toBe(200);
  const answer = await ask(gateway.browser());
  expect([answer.status, answer.body.access_token]).toEqual([400, undefined]);
});

test("PORTAL-11 a trusted device that signs in while the second factor is disabled needs a code again", async () => {
  const email = "trusted@example.eu";
  const [person, device] = [await gateway.join(email), gateway.browser()];
  const enable = async () => {
    const { totpURI } = (await person.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    const on = await person.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    expect(on.status).toBe(200);
    return totpURI;
  };
  const uri = await enable();
  await signIn(device, email);
  const code = { code: totpOf(uri, 1), trustDevice: true };
  expect((await device.post("/manage/auth/two-factor/verify-totp", code)).status).toBe(200);
  onceBefore("create verification", async () => {
    const off = await person.post("/manage/auth/two-factor/disable", { password: PASSWORD });
    expect(off.status).toBe(200);
  });
  const late = await signIn(device, email);
  expect([writing, late.status, late.body.error?.code]).toEqual([nothing, ...OVER]);
  await enable();
  expect((await signIn(device, email)).body.twoFactorRedirect).toBe(true);
});

test("PORTAL-11 a changed password is in the audit log, also when the response comes too late", async () => {
  const email = "changed-late@example.eu";
  const person = await gateway.join(email);
  const { id } = await personOf(email);
  onceBefore("update account", () => owner.ask("DELETE", `/manage/people/${id}/sessions`));
  const answer = await changePassword(person, NEW_PASSWORD);
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, ...OVER]);
  expect((await signIn(gateway.browser(), email, NEW_PASSWORD)).status).toBe(200);
  const { data } = await gateway.manage("GET", `/audit?action=person.password_change&target=${id}`);
  expect(data).toMatchObject([{ actor: email, detail: { address: "127.0.0.1" } }]);
});

test("PORTAL-11 sign-out is effective, whatever else ends at that moment", async () => {
  const email = "leaves@example.eu";
  const [person, other, tab] = [await gateway.join(email), gateway.browser(), gateway.browser()];
  for (const [name, value] of person.cookies) tab.cookies.set(name, value);
  await signIn(other, email);
  const id = await sessionOf(other);
  onceBefore("delete session", () => tab.ask("DELETE", `/manage/me/sessions/${id}`));
  const answer = await person.post("/manage/auth/sign-out");
  expect([writing, answer.status, await isSignedOut(tab)]).toEqual([nothing, 200, true]);
  expect(answer.headers.getSetCookie()).toContainEqual(expect.stringMatching(/session_token=;.*Max-Age=0/));
});

test.each([
  ["DELETE", "/manage/me/sessions"],
  ["DELETE", "/manage/me/sessions/ses_other"],
  ["PATCH", "/manage/me"],
])("PORTAL-11 a person who lost the account changes nothing by %s %s in flight", async (method, path) => {
  const email = `lost-by-${method}-${path.length}@example.eu`.toLowerCase();
  const [thief, person] = [await gateway.join(email), gateway.browser()];
  const { id, name } = await personOf(email);
  before = async () => {
    before = nothing;
    const { link } = await gateway.manage("POST", `/people/${id}/reset-link`);
    expect((await reset(link)).status).toBe(200);
    expect((await signIn(person, email, NEW_PASSWORD)).status).toBe(200);
  };
  const answer = await thief.ask(method, path, method === "PATCH" ? { name: "Mallory" } : undefined);
  expect([before, answer.status, answer.body.error?.code]).toEqual([nothing, ...OVER]);
  expect([await isSignedOut(person), (await personOf(email)).name]).toEqual([false, name]);
});

test("PORTAL-11 an admin's reset link does not accept a membership that is granted meanwhile", async () => {
  const email = "both@example.eu";
  const admin = await gateway.join("wants-more@example.eu", "admin");
  await gateway.join(email);
  const { link } = (await admin.post(`${MEMBERS}/${email}/reset-link`)).body;
  const [given, [answer]] = await waitingBehind(
    () => owner.post("/manage/workspaces/second/members", { email, role: "owner" }),
    () => [reset(link)],
  );
  expect([given.status, answer?.status, answer?.body.error?.param]).toEqual([201, 400, "token"]);
  expect((await signIn(gateway.browser(), email)).status).toBe(200);
});

test("PORTAL-11 a queued invitation is void when its author is removed meanwhile", async () => {
  const [email, maker] = ["elsewhere@example.eu", "inviting@example.eu"];
  const [second, admin] = [await gateway.join(email, "member", "second"), await gateway.join(maker, "admin")];
  const { link } = (await admin.post(INVITATIONS, { email, role: "admin" })).body;
  const [, [accepted]] = await waitingBehind(
    () => owner.ask("DELETE", `${MEMBERS}/${maker}`),
    () => [second.post(`/manage/invitations/${tokenOf(link)}/accept`)],
  );
  expect(accepted?.status).toBe(404);
});

test("PORTAL-11 promotional credit expires at its date, also when its author is no operator any more", async () => {
  const email = "generous@example.eu";
  const browser = await gateway.join(email);
  const { id } = await personOf(email);
  const run = (operator: boolean) => gateway.manage("POST", `/people/${id}/operator`, { operator });
  await run(true);
  const expires_at = new Date(Date.now() + 4000).toISOString();
  const given = { amount: "5", expires_at, reference: "welcome" };
  expect((await browser.post("/manage/workspaces/second/wallet/promotions", given)).status).toBe(201);
  await run(false);
  await eventually(async () =>
    expect((await gateway.manage("GET", "/audit?action=wallet.expire")).data).toHaveLength(1),
  );
});

test("PORTAL-11 an interrupted disabling leaves the account unchanged, and a retry revokes the other tokens", async () => {
  const email = "halfway@example.eu";
  const browser = await gateway.join(email, "owner");
  const tokens = [(await browser.post(TOKENS, TOKEN)).body.token, (await browser.post(TOKENS, TOKEN)).body.token];
  const opened = () => Promise.all(tokens.map(async (token) => (await gateway.call(token, MEMBERS)).status));
  const { id } = await personOf(email);
  const disable = () => owner.post(`/manage/people/${id}/disable`, { disabled: true });
  let changes = 0;
  before = async () => {
    changes += 1;
    if (changes === 2) throw new Error("the process has ended");
  };
  expect((await disable()).status).toBe(500);
  before = nothing;
  expect([(await personOf(email)).disabled, await opened()]).toEqual([false, [401, 200]]);
  expect((await disable()).status).toBe(200);
  expect([(await personOf(email)).disabled, await opened()]).toEqual([true, [401, 401]]);
});

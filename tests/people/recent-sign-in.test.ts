import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ageSessions, type Browser, OWNER, PASSWORD, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";

const MEMBERS = "/manage/workspaces/demo/members";
const INVITATIONS = "/manage/workspaces/demo/invitations";
const TOKENS = "/manage/workspaces/demo/tokens";

let gateway: PeopleGateway;
/** An operator, an owner and an admin, each by address. */
let browsers: Readonly<Record<string, Browser>>;
const [CHIEF, ADMIN] = ["chief@example.eu", "admin@example.eu"];

beforeAll(async () => {
  gateway = await peopleGateway();
  browsers = {
    [OWNER.email]: await gateway.setUp(),
    [CHIEF]: await gateway.join(CHIEF, "owner"),
    [ADMIN]: await gateway.join(ADMIN, "admin"),
  };
});
afterAll(() => gateway.close());

const age = (email: string) => ageSessions(gateway.dataDir, email, 16);
const browserOf = (email: string): Browser => browsers[email] ?? gateway.browser();
const signIn = (email: string) => browserOf(email).post("/manage/auth/sign-in/email", { email, password: PASSWORD });
const idOf = async (email: string) => {
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  return data.find((one: { email: string }) => one.email === email).id;
};

type CallSpec = readonly [method: string, path: string, body?: object];

describe("a sign-in that is not recent", () => {
  test.each<{ what: string; email: string; status: number; call: () => Promise<CallSpec> }>([
    {
      what: "invites no admin",
      email: ADMIN,
      status: 201,
      call: async () => ["POST", INVITATIONS, { email: "invited@example.eu", role: "admin" }],
    },
    {
      what: "cannot invite to an offered owner membership",
      email: CHIEF,
      status: 201,
      async call() {
        await gateway.manage("POST", "/workspaces/demo/members", { email: "waiting@example.eu", role: "owner" });
        return ["POST", INVITATIONS, { email: "waiting@example.eu", role: "member" }];
      },
    },
    {
      what: "invites no member as an operator",
      email: OWNER.email,
      status: 201,
      async call() {
        await gateway.manage("POST", "/workspaces", { slug: "bank" });
        await gateway.manage("POST", "/workspaces/bank/members", { email: "heir@example.eu", role: "owner" });
        return ["POST", INVITATIONS, { email: "heir@example.eu", role: "member" }];
      },
    },
    {
      what: "adds no admin",
      email: ADMIN,
      status: 201,
      call: async () => ["POST", MEMBERS, { email: "added@example.eu", role: "admin" }],
    },
    {
      what: "makes no member an admin",
      email: ADMIN,
      status: 200,
      async call() {
        await gateway.join("raised@example.eu");
        return ["PATCH", `${MEMBERS}/raised@example.eu`, { role: "admin" }];
      },
    },
    {
      what: "makes no admin an owner",
      email: CHIEF,
      status: 200,
      async call() {
        await gateway.join("second@example.eu", "admin");
        return ["PATCH", `${MEMBERS}/second@example.eu`, { role: "owner" }];
      },
    },
    {
      what: "makes no link to a new password of a member",
      email: ADMIN,
      status: 201,
      async call() {
        await gateway.join("forgets@example.eu");
        return ["POST", `${MEMBERS}/forgets@example.eu/reset-link`];
      },
    },
    {
      what: "makes no link to a new password as an operator",
      email: OWNER.email,
      status: 201,
      async call() {
        await gateway.join("lost@example.eu");
        return ["POST", `/manage/people/${await idOf("lost@example.eu")}/reset-link`];
      },
    },
    {
      what: "cannot appoint an operator",
      email: OWNER.email,
      status: 200,
      async call() {
        await gateway.join("runs@example.eu");
        return ["POST", `/manage/people/${await idOf("runs@example.eu")}/operator`, { operator: true }];
      },
    },
    {
      what: "enables no account that was disabled",
      email: OWNER.email,
      status: 200,
      async call() {
        await gateway.join("left@example.eu");
        const id = await idOf("left@example.eu");
        await gateway.manage("POST", `/people/${id}/disable`, { disabled: true });
        return ["POST", `/manage/people/${id}/disable`, { disabled: false }];
      },
    },
    {
      what: "cannot erase a person",
      email: OWNER.email,
      status: 200,
      async call() {
        await gateway.join("forgotten@example.eu");
        return ["POST", `/manage/people/${await idOf("forgotten@example.eu")}/erase`];
      },
    },
    {
      what: "takes no second factor off anybody",
      email: OWNER.email,
      status: 200,
      async call() {
        const browser = await gateway.join("secured@example.eu");
        const { totpURI } = (await browser.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
        await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
        return ["DELETE", `/manage/people/${await idOf("secured@example.eu")}/second-factor`];
      },
    },
    {
      what: "makes no management token that changes what an admin may",
      email: CHIEF,
      status: 201,
      call: async () => ["POST", TOKENS, { name: "program", access: "write" }],
    },
  ])("PORTAL-11 $what, until the person signs in again", async ({ email, status, call }) => {
    const request = await call();
    age(email);
    const stale = await browserOf(email).ask(...request);
    expect([stale.status, stale.body.error?.code]).toEqual([403, "fresh_sign_in_needed"]);
    expect(stale.body.error.message).toBe("Sign in again, then repeat the action.");
    expect((await signIn(email)).status).toBe(200);
    expect((await browserOf(email).ask(...request)).status).toBe(status);
  });

  test("PORTAL-11 suffices for members, for lower roles and for removing", async () => {
    await gateway.join("plain@example.eu");
    await gateway.join("falls@example.eu", "owner");
    const [plain, falls] = [await idOf("plain@example.eu"), await idOf("falls@example.eu")];
    await gateway.manage("POST", `/people/${falls}/operator`, { operator: true });
    for (const email of [OWNER.email, CHIEF, ADMIN]) age(email);
    const done: [string, CallSpec, number][] = [
      [ADMIN, ["POST", INVITATIONS, { email: "guest@example.eu" }], 201],
      [ADMIN, ["POST", MEMBERS, { email: "helper@example.eu", role: "member" }], 201],
      [ADMIN, ["PATCH", `${MEMBERS}/plain@example.eu`, { role: "member" }], 200],
      [CHIEF, ["PATCH", `${MEMBERS}/falls@example.eu`, { role: "admin" }], 200],
      [CHIEF, ["PATCH", `${MEMBERS}/falls@example.eu`, { role: "admin" }], 200],
      [CHIEF, ["DELETE", `${MEMBERS}/falls@example.eu`], 200],
      [CHIEF, ["POST", TOKENS, { name: "report", access: "read" }], 201],
      [OWNER.email, ["POST", `/manage/people/${falls}/operator`, { operator: false }], 200],
      [OWNER.email, ["POST", `/manage/people/${plain}/disable`, { disabled: true }], 200],
    ];
    for (const [email, call, status] of done)
      expect((await browserOf(email).ask(...call)).status, call[1]).toBe(status);
  });

  const sessionOf = async (browser: Browser) => (await browser.get("/manage/me")).body.person.session.id;
  const end = async (browser: Browser, of?: Browser) => {
    const path = of === undefined ? "" : `/${await sessionOf(of)}`;
    const { status, body } = await browser.ask("DELETE", `/manage/me/sessions${path}`);
    return body.error?.code ?? status;
  };
  const signedIn = async (email: string) => {
    const browser = gateway.browser();
    expect((await browser.post("/manage/auth/sign-in/email", { email, password: PASSWORD })).status).toBe(200);
    return browser;
  };

  test("PORTAL-11 ends older sessions and itself; ending newer ones needs a recent sign-in", async () => {
    const email = "robbed@example.eu";
    const first = await gateway.join(email);
    age(email);
    const [thief, second] = [await signedIn(email), await signedIn(email)];
    age(email);
    const person = await signedIn(email);
    expect(await end(thief)).toBe("fresh_sign_in_needed");
    for (const later of [second, person]) expect(await end(thief, later)).toBe("fresh_sign_in_needed");
    expect(await Promise.all([first, second, person].map(sessionOf))).toHaveLength(3);
    expect(await end(thief, first)).toBe(200);
    expect([await end(second, thief), await end(person)]).toEqual([200, 200]);
    expect((await second.get("/manage/me")).body.person).toBeNull();
    age(email);
    expect([await end(person), await end(person, person)]).toEqual([200, 200]);
  });

  test.each([
    { method: "DELETE", path: "sessions" },
    { method: "POST", path: "disable", body: { disabled: true } },
    { method: "POST", path: "operator", body: { operator: false } },
  ])(
    "PORTAL-11 of an operator cannot lock themselves out through people/{id}/$path",
    async ({ method, path, body }) => {
      const email = `runs-${path}@example.eu`;
      const thief = await gateway.join(email);
      const id = await idOf(email);
      await gateway.manage("POST", `/people/${id}/operator`, { operator: true });
      age(email);
      const person = await signedIn(email);
      const ask = async (browser: Browser) => {
        const response = await browser.ask(method, `/manage/people/${id}/${path}`, body);
        return response.body.error?.code ?? response.status;
      };
      expect([await ask(thief), await sessionOf(person)]).toEqual(["fresh_sign_in_needed", expect.any(String)]);
      expect(await ask(person)).toBe(200);
      const still = (await thief.get("/manage/me")).body.person;
      expect(path === "operator" ? still.operator : still).toBe(path === "operator" ? false : null);
    },
  );

  test("PORTAL-11 accepts the code that follows a password", async () => {
    const email = "half-in@example.eu";
    const older = await gateway.join(email);
    age(email);
    const thief = await signedIn(email);
    const { totpURI } = (await thief.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    await thief.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    age(email);
    const person = await signedIn(email);
    expect([await end(thief), await end(thief, older)]).toEqual(["fresh_sign_in_needed", "fresh_sign_in_needed"]);
    const code = totpOf(totpURI, 1);
    expect((await person.post("/manage/auth/two-factor/verify-totp", { code })).status).toBe(200);
    // Nothing is pending any more, and a session can be ended at any time.
    expect(await end(thief, older)).toBe(200);
    await signedIn(email);
    expect(await end(thief, thief)).toBe(200);
  });

  test("PORTAL-11 ends all others although its trusted device needs no code: none began later", async () => {
    const email = "trusting@example.eu";
    const first = await gateway.join(email);
    const { totpURI } = (await first.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    await first.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    const person = await signedIn(email);
    const given = { code: totpOf(totpURI, 1), trustDevice: true };
    expect((await person.post("/manage/auth/two-factor/verify-totp", given)).status).toBe(200);
    age(email);
    expect([await end(person), (await first.get("/manage/me")).body.person]).toEqual([200, null]);
  });

  test("PORTAL-11 missing permissions are reported first", async () => {
    age(ADMIN);
    const above = await browserOf(ADMIN).post(INVITATIONS, { email: "boss@example.eu", role: "owner" });
    expect([above.status, above.body.error.code]).toEqual([403, "insufficient_role"]);
  });

  test("PORTAL-11 tokens are no sign-in: the operator's and those of programs need none", async () => {
    const { token } = await gateway.manage("POST", "/workspaces/demo/tokens", { name: "directory", access: "write" });
    const body = { email: "program@example.eu", role: "admin" };
    expect((await gateway.call(token, INVITATIONS, { body })).status).toBe(201);
  });
});

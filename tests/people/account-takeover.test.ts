import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Authenticator, addPasskey, byPasskey } from "../support/authenticator.ts";
import { openBooks } from "../support/books.ts";
import { eventually } from "../support/eventually.ts";
import { type IdentityProvider, proven, startIdentityProvider } from "../support/oidc.ts";
import { type Browser, OWNER, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";
import { unusedPort } from "../support/upstream.ts";

let provider: IdentityProvider;
let gateway: PeopleGateway;
let owner: Browser;

beforeAll(async () => {
  provider = await startIdentityProvider(`http://localhost:${await unusedPort()}`, [
    ...proven("victim", "kept"),
    { sub: "odd", email: "operator", email_verified: true, name: "Odd" },
  ]);
  gateway = await peopleGateway({
    env: {
      ...provider.env,
      GATEWAY_SIGN_IN_ADDRESS_TRIES: "1000",
    },
  });
  owner = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "second" });
});
afterAll(async () => {
  await gateway.close();
  await provider.close();
});

const ACCOUNT = { name: "Mallory", password: PASSWORD };
const INVITATIONS = "/manage/workspaces/demo/invitations";
const MEMBERS = "/manage/workspaces/demo/members";
const TOKEN = { name: "program", access: "write" };
const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.post("/manage/auth/sign-in/email", { email, password });
const NEW_PASSWORD = "eight green bicycles";
const reset = (link: string) =>
  gateway.browser().post("/manage/auth/reset-password", { token: tokenOf(link), newPassword: NEW_PASSWORD });
const isSignedOut = async (browser: Browser) => (await browser.get("/manage/me")).body.person === null;
const lines = async (action: string) => (await gateway.manage("GET", `/audit?action=${action}&limit=1000`)).data;

const idOf = async (email: string) => {
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  return data.find((one: { email: string }) => one.email === email).id;
};

/** Creates an account for an address with an invitation link. */
async function take(link: string): Promise<{ status: number; browser: Browser }> {
  const browser = gateway.browser();
  return { status: (await browser.post(`/manage/invitations/${tokenOf(link)}/accept`, ACCOUNT)).status, browser };
}

async function throughProvider(browser: Browser, sub: string): Promise<string> {
  const body = { provider: "oidc", callbackURL: "/app", errorCallbackURL: "/app/sign-in" };
  const { url } = (await browser.post("/manage/auth/sign-in/social", body)).body;
  const back = new URL(await provider.signIn(url, sub));
  return (await browser.get(`${back.pathname}${back.search}`)).headers.get("location") ?? "";
}

describe("an invitation", () => {
  test("PORTAL-11 of an admin who was removed or demoted is invalid", async () => {
    const admin = await gateway.join("leaving@example.eu", "admin");
    const invite = async (email: string) => (await admin.post(INVITATIONS, { email, role: "admin" })).body;
    const [back, later] = [await invite("back-door@example.eu"), await invite("later@example.eu")];
    await owner.ask("PATCH", `${MEMBERS}/leaving@example.eu`, { role: "member" });
    expect((await take(back.link)).status).toBe(404);
    await owner.ask("DELETE", `${MEMBERS}/leaving@example.eu`);
    expect((await take(back.link)).status).toBe(404);
    expect((await gateway.browser().get(`/manage/invitations/${tokenOf(later.link)}`)).status).toBe(404);
    const { data } = (await owner.get(INVITATIONS)).body;
    expect(data.find(({ id }: { id: string }) => id === later.id).state).toBe("revoked");
  });

  test("PORTAL-11 for a membership that was removed meanwhile is invalid", async () => {
    const email = "eve@example.eu";
    await owner.post(MEMBERS, { email });
    const { id, link } = (await owner.post(INVITATIONS, { email })).body;
    const removed = await owner.ask("DELETE", `${MEMBERS}/${email}`);
    expect((await take(link)).status).toBe(404);
    const { data } = (await owner.get(INVITATIONS)).body;
    expect(data.find((one: { id: string }) => one.id === id).state).toBe("revoked");
    const [line] = (await lines("member.remove")).filter(
      ({ target }: { target: string }) => target === removed.body.id,
    );
    expect(line.detail).toMatchObject({ email, revoked_links: [id] });
    // A new invitation is needed.
    const again = (await owner.post(INVITATIONS, { email })).body;
    expect((await take(again.link)).status).toBe(200);
  });

  test("PORTAL-11 that expired, and a link that was used, are not revoked again with the membership", async () => {
    const email = "ends@example.eu";
    await gateway.join(email);
    const { link } = (await owner.post(`${MEMBERS}/${email}/reset-link`)).body;
    expect((await reset(link)).status).toBe(200);
    const late = "late@example.eu";
    const { id } = (await owner.post(INVITATIONS, { email: late })).body;
    await owner.post(MEMBERS, { email: late });
    const db = openBooks(gateway.dataDir);
    db.prepare("update people_links set expires_at_ms = 1000 where id = ?").run(id);
    db.close();
    for (const removed of [email, late])
      expect((await owner.ask("DELETE", `${MEMBERS}/${removed}`)).body).toMatchObject({
        email: removed,
        revoked_links: [],
      });
    const { data } = (await owner.get(INVITATIONS)).body;
    expect(data.find((one: { id: string }) => one.id === id).state).toBe("expired");
  });

  test("PORTAL-11 of a management token is invalid once the token has expired", async () => {
    const expires_at = new Date(Date.now() + 4000).toISOString();
    const tokenSpec = { name: "brief", access: "write", expires_at };
    const { token } = await gateway.manage("POST", "/workspaces/demo/tokens", tokenSpec);
    const made = await gateway.call(token, INVITATIONS, { body: { email: "tardy@example.eu" } });
    expect(made.status).toBe(201);
    await eventually(async () => expect((await gateway.call(token, MEMBERS)).status).toBe(401));
    expect((await take(made.body.link)).status).toBe(404);
  });

  test("PORTAL-11 a removed person cannot be invited again with their own management token", async () => {
    const [email, other] = ["founder@example.eu", await gateway.manage("POST", "/workspaces/demo/tokens", TOKEN)];
    const founder = await gateway.join(email, "owner");
    const { id, token } = (await founder.post("/manage/workspaces/demo/tokens", TOKEN)).body;
    expect((await owner.post(`${MEMBERS}/${email}/reset-link`)).status).toBe(201);
    const removed = await owner.ask("DELETE", `${MEMBERS}/${email}`);
    expect(removed.body).toMatchObject({
      email,
      removed_tokens: [id],
      revoked_links: [expect.stringMatching(/^lnk_/)],
    });
    expect((await gateway.call(token, INVITATIONS, { body: { email } })).status).toBe(401);
    expect((await gateway.call(other.token, MEMBERS)).status).toBe(200);
    const { revoked_keys, removed_tokens, revoked_links } = removed.body;
    const detail = { email, revoked_keys, removed_tokens, revoked_links };
    expect((await lines("member.remove"))[0].detail).toEqual(detail);
  });

  const made = async (browser: Browser, workspace = "demo") =>
    (await browser.post(`/manage/workspaces/${workspace}/tokens`, TOKEN)).body;
  const opens = async (token: string, workspace = "demo") =>
    (await gateway.call(token, `/manage/workspaces/${workspace}/members`)).status;

  test("PORTAL-11 a former owner does not regain the role with their own management token", async () => {
    const email = "lowered@example.eu";
    const { id, token } = await made(await gateway.join(email, "owner"));
    const other = await made(owner);
    const lowered = await owner.ask("PATCH", `${MEMBERS}/${email}`, { role: "member" });
    expect(lowered.body).toMatchObject({ email, role: "member", removed_tokens: [id] });
    expect(await opens(token)).toBe(401);
    expect((await lines("member.role"))[0].detail).toMatchObject({ email, after: "member", removed_tokens: [id] });
    const raised = await owner.ask("PATCH", `${MEMBERS}/${email}`, { role: "owner" });
    expect(raised.body).toMatchObject({ role: "owner", removed_tokens: [] });
    expect(await opens(other.token)).toBe(200);
  });

  test("PORTAL-11 disabling an account revokes its management tokens in all workspaces", async () => {
    const email = "disabled@example.eu";
    const browser = await gateway.join(email, "owner");
    await gateway.manage("POST", "/workspaces/second/members", { email, role: "owner" });
    const tokens = [await made(browser), await made(browser, "second")];
    const person = await idOf(email);
    await gateway.manage("POST", `/people/${person}/disable`, { disabled: true });
    await gateway.manage("POST", `/people/${person}/disable`, { disabled: false });
    expect([await opens(tokens[0].token), await opens(tokens[1].token, "second")]).toEqual([401, 401]);
    // In any order: both may be of the same millisecond.
    const removed = await lines("token.remove");
    for (const { id } of tokens)
      expect(removed.find(({ target }: { target: string }) => target === id)).toMatchObject({
        actor: "operator",
        detail: { of: email },
      });
  });

  test("PORTAL-11 a former operator keeps the management tokens of workspaces they own alone", async () => {
    const email = "once@example.eu";
    const browser = await gateway.join(email, "owner", "second");
    const person = await idOf(email);
    await gateway.manage("POST", `/people/${person}/operator`, { operator: true });
    const [theirs, foreign] = [await made(browser, "second"), await made(browser)];
    expect([await opens(theirs.token, "second"), await opens(foreign.token)]).toEqual([200, 200]);
    await gateway.manage("POST", `/people/${person}/operator`, { operator: false });
    expect([await opens(theirs.token, "second"), await opens(foreign.token)]).toEqual([200, 401]);
  });

  test("PORTAL-11 does not accept a later offered membership above its role", async () => {
    const admin = await gateway.join("climber@example.eu", "admin");
    const { link } = (await admin.post(INVITATIONS, { email: "heir@example.eu", role: "member" })).body;
    expect((await owner.post(MEMBERS, { email: "heir@example.eu", role: "owner" })).status).toBe(201);
    const taken = await take(link);
    expect(taken.status).toBe(403);
    expect(await isSignedOut(taken.browser)).toBe(true);
    // The owner's own invitation names the offered membership and accepts it.
    const good = (await owner.post(INVITATIONS, { email: "heir@example.eu" })).body;
    expect(good.role).toBe("owner");
    expect((await take(good.link)).status).toBe(200);
  });

  test("PORTAL-11 accepted in another person's name is void once that person signs in by single sign-on", async () => {
    const mallory = await gateway.join("mallory@example.eu", "owner");
    const { id, link } = (await mallory.post(INVITATIONS, { email: "victim@example.eu", role: "owner" })).body;
    const { browser: squatter } = await take(link);
    const device = new Authenticator("localhost", gateway.url);
    await addPasskey(squatter, device);
    const { token } = await made(squatter);
    expect(await opens(token)).toBe(200);
    const friend = (await squatter.post(INVITATIONS, { email: "accomplice@example.eu", role: "admin" })).body;
    const ready = await mallory.post(`${MEMBERS}/victim@example.eu/reset-link`);
    expect(ready.status).toBe(201);
    // The operator cannot add such an account either.
    const drawn = await owner.post("/manage/workspaces/second/members", { email: "victim@example.eu" });
    expect(drawn.status).toBe(409);

    const victim = gateway.browser();
    expect(await throughProvider(victim, "victim")).toMatch(/\/app$/);
    const { person } = (await victim.get("/manage/me")).body;
    expect([person.email, person.has_password, person.passkeys]).toEqual(["victim@example.eu", false, 0]);
    expect(await isSignedOut(squatter)).toBe(true);
    expect((await signIn(gateway.browser(), "victim@example.eu")).status).toBe(401);
    expect((await byPasskey(gateway.browser(), device)).status).toBe(401);
    expect((await reset(ready.body.link)).status).toBe(400);
    expect(await opens(token)).toBe(401);
    expect((await take(friend.link)).status).toBe(404);
    expect(await lines("person.start_over")).toMatchObject([{ actor: "victim@example.eu" }]);
    const removed = { actor: "victim@example.eu", detail: { name: TOKEN.name, of: "victim@example.eu" } };
    expect((await lines("token.remove"))[0]).toMatchObject(removed);
    // An acceptance in another person's name permits no reset of the account.
    const again = await mallory.post(`${MEMBERS}/victim@example.eu/reset-link`);
    expect([again.status, again.body.error?.code]).toEqual([403, "not_allowed"]);
    const { data } = (await owner.get(INVITATIONS)).body;
    expect(data.find((one: { id: string }) => one.id === id).state).toBe("revoked");
    expect((await owner.post("/manage/workspaces/second/members", { email: "victim@example.eu" })).status).toBe(201);
  });

  test("PORTAL-11 a password set with an admin's link leaves the address unverified until single sign-on", async () => {
    const email = "kept@example.eu";
    const admin = await gateway.join("minds@example.eu", "admin");
    await gateway.join(email);
    const person = gateway.browser();
    await throughProvider(person, "kept");
    expect((await signIn(gateway.browser(), email)).status).toBe(200);
    const { link } = (await admin.post(`${MEMBERS}/${email}/reset-link`)).body;
    expect((await reset(link)).status).toBe(200);
    const draw = async () => (await owner.post("/manage/workspaces/second/members", { email, role: "owner" })).status;
    expect(await draw()).toBe(409);
    const thief = gateway.browser();
    expect((await signIn(thief, email, NEW_PASSWORD)).status).toBe(200);
    await throughProvider(person, "kept");
    expect((await person.get("/manage/me")).body.person).toMatchObject({ email, has_password: false });
    expect(await isSignedOut(thief)).toBe(true);
    expect((await signIn(gateway.browser(), email, NEW_PASSWORD)).status).toBe(401);
    expect(await draw()).toBe(201);
    // A verified account stays as it is.
    const { link: ofOperator } = await gateway.manage("POST", `/people/${await idOf(email)}/reset-link`);
    expect((await reset(ofOperator)).status).toBe(200);
    expect((await reset(link)).status).toBe(400);
    await throughProvider(person, "kept");
    expect((await person.get("/manage/me")).body.person).toMatchObject({ email, has_password: true });
  });

  test("PORTAL-11 setting such a password is atomic: after a failure nothing changed, and the link is valid", async () => {
    const email = "cut@example.eu";
    const admin = await gateway.join("cuts@example.eu", "admin");
    const person = await gateway.join(email);
    const { link } = (await admin.post(`${MEMBERS}/${email}/reset-link`)).body;
    const db = openBooks(gateway.dataDir);
    // It is the last write.
    const onReset = "when new.action = 'person.password_reset'";
    db.exec(`create trigger cut_off before insert on audit_log ${onReset} begin select raise(abort, 'cut off'); end`);
    expect((await reset(link)).status).toBe(500);
    db.exec("drop trigger cut_off");
    db.close();
    expect([await isSignedOut(person), (await signIn(gateway.browser(), email)).status]).toEqual([false, 200]);
    expect((await owner.post("/manage/workspaces/second/members", { email })).status).toBe(201);
    await owner.ask("DELETE", `/manage/workspaces/second/members/${email}`);
    expect((await reset(link)).status).toBe(200);
    expect([await isSignedOut(person), (await signIn(gateway.browser(), email)).status]).toEqual([true, 401]);
    expect((await lines("person.password_reset"))[0]).toMatchObject({
      actor: email,
      detail: { address: expect.any(String) },
    });
  });

  test("PORTAL-11 of an admin is limited per address and day", async () => {
    const admin = await gateway.join("insists@example.eu", "admin");
    const statuses: number[] = [];
    for (let round = 0; round < 6; round += 1)
      statuses.push((await admin.post(INVITATIONS, { email: "left-alone@example.eu" })).status);
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429]);
    expect((await admin.post(INVITATIONS, { email: "another@example.eu" })).status).toBe(201);
  });

  test("PORTAL-11 single sign-on creates no account whose name is reserved in the audit log", async () => {
    const browser = gateway.browser();
    expect(await throughProvider(browser, "odd")).toContain("error=");
    expect(await isSignedOut(browser)).toBe(true);
  });
});

describe("one's own account", () => {
  test("PORTAL-11 gets no password reset link from its own session, which could be an old one", async () => {
    const email = "forgetful@example.eu";
    const admin = await gateway.join(email, "admin");
    const own = await admin.post(`${MEMBERS}/${email}/reset-link`);
    expect([own.status, own.body.error?.code]).toEqual([403, "not_allowed"]);
    expect((await owner.post(`${MEMBERS}/${email}/reset-link`)).status).toBe(201);
  });

  test("PORTAL-11 an operator's own session cannot remove their second factor; the operator token can", async () => {
    const browser = await gateway.join("runs@example.eu");
    const { id } = (await browser.get("/manage/me")).body.person;
    await gateway.manage("POST", `/people/${id}/operator`, { operator: true });
    const { totpURI } = (await browser.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    const refused = [
      await browser.ask("DELETE", `/manage/people/${id}/second-factor`),
      await browser.post(`/manage/people/${id}/reset-link`),
    ];
    expect(refused.map(({ status, body }) => [status, body.error?.code])).toEqual([
      [403, "not_allowed"],
      [403, "not_allowed"],
    ]);
    expect((await gateway.manage("POST", `/people/${id}/reset-link`)).link).toContain("reset-password");
    expect((await gateway.manage("DELETE", `/people/${id}/second-factor`)).two_factor).toBe(false);
  });
});

describe("signing in", () => {
  test("PORTAL-11 a one-time code that was used is not accepted again", async () => {
    const browser = await gateway.join("watched@example.eu");
    const { totpURI } = (await browser.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    const on = await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    expect(on.status).toBe(200);
    const code = totpOf(totpURI, 1);
    const withCode = async () => {
      const fresh = gateway.browser();
      await signIn(fresh, "watched@example.eu");
      const answer = await fresh.post("/manage/auth/two-factor/verify-totp", { code });
      return { status: answer.status, isIn: !(await isSignedOut(fresh)) };
    };
    expect(await withCode()).toEqual({ status: 200, isIn: true });
    expect(await withCode()).toEqual({ status: 401, isIn: false });
  });

  test("PORTAL-11 as another person while signed in is in the audit log; an anonymous sign-out is not", async () => {
    const thief = await gateway.join("thief@example.eu");
    await gateway.join("robbed@example.eu");
    expect((await signIn(thief, "robbed@example.eu")).status).toBe(200);
    expect((await lines("person.sign_in"))[0]).toMatchObject({
      actor: "robbed@example.eu",
      detail: { how: "password" },
    });
    const before = (await lines("person.sign_out")).length;
    expect((await gateway.browser().post("/manage/auth/sign-out")).status).toBe(200);
    expect(await lines("person.sign_out")).toHaveLength(before);
  });

  test("PORTAL-11 no response exposes the session token to a page", async () => {
    await gateway.join("quiet@example.eu");
    const browser = gateway.browser();
    const answer = await signIn(browser, "quiet@example.eu");
    expect(answer.body.user.email).toBe("quiet@example.eu");
    const token = decodeURIComponent([...browser.cookies.values()][0] ?? "").split(".")[0] ?? "";
    expect(token.length).toBeGreaterThan(20);
    expect(JSON.stringify(answer.body)).not.toContain(token);
  });
});

describe("a body that is sent slowly", () => {
  /** Sends the head of a change, and the body after `meanwhile`. */
  async function slowly(browser: Browser, path: string, body: object, meanwhile: () => Promise<unknown>) {
    const { hostname, port, host, origin } = new URL(gateway.url);
    const socket = connect({ host: hostname, port: Number(port) });
    const text = JSON.stringify(body);
    const cookie = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
    const head = [`POST ${path} HTTP/1.1`, `host: ${host}`, `origin: ${origin}`, `cookie: ${cookie}`];
    const more = ["content-type: application/json", "expect: 100-continue", `content-length: ${text.length}`];
    socket.write(`${[...head, ...more].join("\r\n")}\r\n\r\n`);
    // The gateway has authenticated the sender before it reads the body.
    expect(String((await once(socket, "data"))[0])).toContain("100 Continue");
    await meanwhile();
    socket.write(text);
    const [answer] = await once(socket, "data");
    socket.destroy();
    return /^HTTP\/1\.1 (\d+)/.exec(String(answer))?.[1];
  }
  const invitation = { email: "friend@example.eu", role: "admin" };

  test("PORTAL-11 changes nothing once its sender was removed or demoted", async () => {
    const removed = await gateway.join("slow@example.eu", "admin");
    const lower = await gateway.join("slower@example.eu", "admin");
    const remove = () => owner.ask("DELETE", `${MEMBERS}/slow@example.eu`);
    const demote = () => owner.ask("PATCH", `${MEMBERS}/slower@example.eu`, { role: "member" });
    expect(await slowly(removed, INVITATIONS, invitation, remove)).toBe("403");
    expect(await slowly(lower, INVITATIONS, invitation, demote)).toBe("403");
    expect(await slowly(owner, INVITATIONS, invitation, async () => {})).toBe("201");
  });

  test("PORTAL-11 changes nothing of the operator's once its sender is no operator any more", async () => {
    const slug = "too-late";
    const browser = await gateway.join("resigns@example.eu");
    const { data } = await gateway.manage("GET", "/people?limit=1000");
    const { id } = data.find(({ email }: { email: string }) => email === "resigns@example.eu");
    const run = (operator: boolean) => gateway.manage("POST", `/people/${id}/operator`, { operator });
    await run(true);
    expect(await slowly(browser, "/manage/workspaces", { slug }, () => run(false))).toBe("403");
    await run(true);
    expect(await slowly(browser, "/manage/workspaces", { slug }, async () => {})).toBe("201");
  });

  test("PORTAL-11 changes nothing once its session has ended", async () => {
    const ended = await gateway.join("ended@example.eu", "admin");
    const other = gateway.browser();
    await signIn(other, "ended@example.eu");
    expect(await slowly(ended, INVITATIONS, invitation, () => other.ask("DELETE", "/manage/me/sessions"))).toBe("401");
  });
});

test("PORTAL-11 open sign-up allows one new workspace per person, also concurrently", async () => {
  const open = await peopleGateway({
    env: {
      GATEWAY_SIGNUP: "open",
      GATEWAY_SMTP_URL: "smtp://127.0.0.1:1",
      GATEWAY_MAIL_FROM: "gateway@example.eu",
    },
  });
  await open.setUp();
  const browser = await open.join("many@example.eu");
  const made = await Promise.all(["one", "two", "three"].map((slug) => browser.post("/manage/workspaces", { slug })));
  expect(made.map(({ status }) => status).toSorted()).toEqual([201, 403, 403]);
  expect((await signIn(open.browser(), OWNER.email)).status).toBe(200);
  const { slug } = made.find(({ status }) => status === 201)?.body ?? {};
  const membership = `/manage/workspaces/${slug}/members/many@example.eu`;
  const lower = await browser.ask("PATCH", membership, { role: "member" });
  expect([lower.status, lower.body.error.code]).toEqual([409, "conflict"]);
  expect((await browser.ask("DELETE", membership)).status).toBe(200);
  expect((await browser.get("/manage/me")).body.may_create_workspace).toBe(false);
  expect((await browser.post("/manage/workspaces", { slug: "four" })).status).toBe(403);
  // A workspace that was assigned does not count as created.
  const given = await open.join("given@example.eu", "owner");
  expect((await given.get("/manage/me")).body.may_create_workspace).toBe(true);
  expect((await given.post("/manage/workspaces", { slug: "five" })).status).toBe(201);
  // A failed creation does not count either.
  const unlucky = await open.join("unlucky@example.eu");
  const db = openBooks(open.dataDir);
  db.exec("create trigger cut_off before insert on members begin select raise(abort, 'cut off'); end");
  expect((await unlucky.post("/manage/workspaces", { slug: "six" })).status).toBe(500);
  db.exec("drop trigger cut_off");
  db.close();
  expect((await unlucky.post("/manage/workspaces", { slug: "six" })).status).toBe(201);
  expect((await unlucky.get("/manage/workspaces/six/members")).body.data).toMatchObject([{ role: "owner" }]);
  await open.close();
});

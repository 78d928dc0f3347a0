import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HASH_COST } from "../../src/kit/password-hasher.ts";
import { openBooks } from "../support/books.ts";
import { gatewayForTest } from "../support/gateway.ts";
import { Browser, OWNER, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

let gateway: PeopleGateway;
beforeAll(async () => {
  gateway = await peopleGateway({ hashCost: HASH_COST });
});
afterAll(() => gateway.close());

const signIn = (browser: Browser, email: string = OWNER.email, password: string = PASSWORD) =>
  browser.post("/manage/auth/sign-in/email", { email, password });

describe("the first person", () => {
  test("PORTAL-01 the set-up link creates the first person, once: operator, owner of demo, signed in", async () => {
    const token = tokenOf(gateway.setupLink);
    expect(gateway.setupLink).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/app\/setup\?token=[\w-]{40,}$/);
    const owner = gateway.browser();
    const before = await owner.get("/manage/me");
    expect(before.body).toMatchObject({ person: null, workspaces: [], sign_in: { setup_needed: true } });
    expect((await owner.get(`/manage/setup?token=${token}`)).body).toEqual({ good: true, needed: true });
    expect((await owner.get("/manage/setup?token=wrong")).body).toEqual({ good: false, needed: true });
    const made = await owner.post("/manage/setup", { ...OWNER, token });
    expect([made.status, made.body]).toEqual([
      201,
      { email: OWNER.email, name: OWNER.name, operator: true, workspace: "demo" },
    ]);
    const me = await owner.get("/manage/me");
    expect(me.body.person).toMatchObject({ email: OWNER.email, operator: true, has_password: true, two_factor: false });
    expect(me.body.workspaces).toMatchObject([{ slug: "demo", role: "owner", currency: "EUR" }]);
    expect(me.body.sign_in).toMatchObject({ setup_needed: false, signup: "invited", oidc: null });
    expect((await gateway.browser().post("/manage/setup", { ...OWNER, token })).status).toBe(404);
    expect((await owner.get(`/manage/setup?token=${token}`)).body).toEqual({ good: false, needed: false });
  });

  test("PORTAL-01 PORTAL-11 a restart before set-up makes another link, and none once there is an operator", async () => {
    const first = await peopleGateway();
    const link = first.setupLink;
    const made = await first.manage("POST", "/setup-link");
    expect(tokenOf(made.link)).not.toBe(tokenOf(link));
    const late = first.browser();
    const invited = await first.manage("POST", "/workspaces/demo/invitations", { email: OWNER.email });
    for (const other of [link, invited.link])
      expect((await late.post("/manage/setup", { ...OWNER, token: tokenOf(other) })).status).toBe(404);
    expect((await late.get(`/manage/invitations/${tokenOf(made.link)}`)).status).toBe(404);
    expect((await late.post("/manage/setup", { ...OWNER, token: tokenOf(made.link) })).status).toBe(201);
    await expect(first.manage("POST", "/setup-link")).rejects.toThrow("409");
    await first.close();
  });
});

describe("a password", () => {
  test("PORTAL-01 signs in, its session manages, and sign-out ends it", async () => {
    const browser = gateway.browser();
    const signedIn = await signIn(browser, "Ada@Example.EU");
    expect([signedIn.status, signedIn.body.user?.email]).toEqual([200, OWNER.email]);
    expect((await browser.get("/manage/workspaces")).status).toBe(200);
    const cookies = new Map(browser.cookies);
    expect((await browser.post("/manage/auth/sign-out")).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person).toBeNull();
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    expect((await browser.get("/manage/workspaces")).status).toBe(401);
  });

  test("PORTAL-11 AUTH-06 a wrong password and an unknown address get the same error", async () => {
    const wrong = await signIn(gateway.browser(), OWNER.email, "three red bicycles");
    const unknown = await signIn(gateway.browser(), "absent@example.eu", "three red bicycles");
    const errorOf = ({ status, body }: typeof wrong) => [status, body.error.code, body.error.message];
    expect(errorOf(wrong)).toEqual([401, "invalid_sign_in", expect.stringContaining("is wrong")]);
    expect(errorOf(unknown)).toEqual(errorOf(wrong));
    expect(wrong.headers.get("www-authenticate")).toBe("Bearer");
    // Without mail there is no password reset by mail.
    expect(wrong.body.error.message).toContain("ask the operator for a password reset link");
  });

  test("PORTAL-11 the cookie is HttpOnly and SameSite; every sign-in creates a new session", async () => {
    const browser = gateway.browser();
    await signIn(browser);
    const planted = new Map(browser.cookies);
    const again = await signIn(browser);
    const set = again.headers.getSetCookie().find((one) => one.startsWith("gateway.session_token="));
    expect(set).toMatch(/; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
    expect(browser.cookies.get("gateway.session_token")).not.toBe(planted.get("gateway.session_token"));
    // An invented value is no session, and neither is a valid one with another signature.
    const value = decodeURIComponent(browser.cookies.get("gateway.session_token") ?? "");
    for (const forged of ["made-up-made-up-made-up.x", `${value.split(".")[0]}.AAAA`]) {
      const other = new Browser(gateway.url, { cookie: `gateway.session_token=${encodeURIComponent(forged)}` });
      expect((await other.get("/manage/me")).body.person).toBeNull();
    }
  });

  test("PORTAL-11 under HTTPS cookies are Secure and host-only", async () => {
    const secure = await peopleGateway({ env: { GATEWAY_PUBLIC_URL: "https://gateway.example.eu" } });
    expect(secure.setupLink).toMatch(/^https:\/\/gateway\.example\.eu\/app\/setup\?token=/);
    const origin = { origin: "https://gateway.example.eu" };
    const made = await secure.browser(origin).post("/manage/setup", { ...OWNER, token: tokenOf(secure.setupLink) });
    const signedIn = await secure.browser(origin).post("/manage/auth/sign-in/email", OWNER_SIGN_IN);
    for (const { headers } of [made, signedIn])
      expect(headers.getSetCookie().join("\n")).toMatch(
        /__Host-gateway\.session_token=[^;]+; Max-Age=604800; Path=\/; HttpOnly; Secure; SameSite=Lax/,
      );
    expect((await signIn(secure.browser({ origin: "https://evil.example" }))).status).toBe(403);
    await secure.close();
  });

  test("PORTAL-11 a page of another site cannot sign in or change anything", async () => {
    const browser = gateway.browser();
    await signIn(browser);
    for (const headers of [{ origin: "https://evil.example", "sec-fetch-site": "cross-site" }, { origin: "null" }]) {
      const elsewhere = await browser.ask("POST", "/manage/auth/sign-out", {}, headers);
      expect([elsewhere.status, elsewhere.body.error.code]).toEqual([403, "cross_site_request"]);
    }
    const crossSite = await browser.ask("DELETE", "/manage/me/sessions", undefined, { origin: "http://evil.example" });
    expect(crossSite.status).toBe(403);
    expect((await browser.get("/manage/me")).body.person.email).toBe(OWNER.email);
  });

  test("PORTAL-01 changing it ends all other sessions", async () => {
    const joined = await gateway.join("change@example.eu");
    const other = gateway.browser();
    await signIn(other, "change@example.eu");
    const body = { currentPassword: PASSWORD, newPassword: "four green bicycles" };
    const wrong = await joined.post("/manage/auth/change-password", { ...body, currentPassword: "four red bicycles" });
    expect([wrong.status, wrong.body.error.param]).toEqual([400, "currentPassword"]);
    expect((await joined.post("/manage/auth/change-password", body)).status).toBe(200);
    expect((await other.get("/manage/me")).body.person).toBeNull();
    expect((await joined.get("/manage/me")).body.person.email).toBe("change@example.eu");
    expect((await signIn(gateway.browser(), "change@example.eu")).status).toBe(401);
    expect((await signIn(gateway.browser(), "change@example.eu", "four green bicycles")).status).toBe(200);
  });

  test.each([
    ["short", "too short"],
    ["passwordpassword", "a common password"],
    ["ababababababab", "a common password"],
    ["123456789012", "a common password"],
    [`${"x".repeat(255)}yz`, "too long"],
  ])("PORTAL-11 %s cannot be a password", async (newPassword) => {
    const joined = gateway.browser();
    await signIn(joined);
    const refused = await joined.post("/manage/auth/change-password", { currentPassword: PASSWORD, newPassword });
    expect([refused.status, refused.body.error.code, refused.body.error.param]).toEqual([
      400,
      "invalid_value",
      "newPassword",
    ]);
  });

  test("PORTAL-01 the operator creates a reset link, which sets a password once and ends sessions", async () => {
    const joined = await gateway.join("forgot@example.eu");
    const { data } = await gateway.manage("GET", "/people");
    const { id } = data.find(({ email }: { email: string }) => email === "forgot@example.eu");
    const { link } = await gateway.manage("POST", `/people/${id}/reset-link`);
    const fresh = gateway.browser();
    const body = { token: tokenOf(link), newPassword: "five green bicycles" };
    expect((await fresh.post("/manage/auth/reset-password", body)).status).toBe(200);
    expect((await fresh.post("/manage/auth/reset-password", body)).status).toBe(400);
    expect((await joined.get("/manage/me")).body.person).toBeNull();
    expect((await signIn(fresh, "forgot@example.eu", "five green bicycles")).status).toBe(200);
  });
});

const OWNER_SIGN_IN = { email: OWNER.email, password: PASSWORD };

describe("closed library routes", () => {
  test.each([
    ["POST", "sign-up/email"],
    ["GET", "list-accounts"],
    ["POST", "delete-user"],
    ["POST", "change-email"],
    ["POST", "update-user"],
    ["POST", "two-factor/send-otp"],
    ["GET", "sign-in/email"],
    ["POST", "request-password-reset"],
    ["POST", "sign-in/social"],
    ["GET", "callback/oidc"],
    ["GET", "error"],
    ["GET", "../me"],
    ["GET", "constructor"],
  ])("PORTAL-11 %s %s of the library is not found", async (method, path) => {
    const body = method === "POST" ? { email: "x@example.eu", password: PASSWORD, name: "X" } : undefined;
    const answer = await gateway.browser().ask(method, `/manage/auth/${encodeURIComponent(path)}`, body);
    expect([answer.status, answer.body.error.code]).toEqual([404, "not_found"]);
  });

  test("refuses an unknown field by name", async () => {
    const refused = await gateway.browser().post("/manage/auth/sign-in/email", { ...OWNER_SIGN_IN, rememberMe: false });
    expect([refused.status, refused.body.error.param]).toEqual([400, "rememberMe"]);
  });
});

describe("login throttle", () => {
  test("PORTAL-11 limits attempts per account and address, and sends Retry-After", async () => {
    const small = await peopleGateway({
      env: {
        GATEWAY_SIGN_IN_ACCOUNT_TRIES: "3",
        GATEWAY_SIGN_IN_ADDRESS_TRIES: "6",
        GATEWAY_SIGN_IN_WINDOW: "10m",
        GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
      },
    });
    await small.setUp();
    // A correct attempt does not count.
    for (let round = 0; round < 5; round += 1) expect((await signIn(small.browser())).status).toBe(200);
    const statuses = await Promise.all(
      [1, 2, 3, 4].map(async () => (await signIn(small.browser(), OWNER.email, "three red bicycles")).status),
    );
    expect(statuses.toSorted()).toEqual([401, 401, 401, 429]);
    const locked = await signIn(small.browser());
    expect([locked.status, locked.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
    // Three attempts refill in ten minutes.
    expect(Number(locked.headers.get("retry-after"))).toBeLessThanOrEqual(200);
    expect(locked.body.error.message).toContain("Try again in 4 minutes");
    // Another account from the same address: three attempts are left, then none.
    const others = [];
    for (const name of ["a", "b", "c", "d"]) others.push((await signIn(small.browser(), `${name}@example.eu`)).status);
    expect(others.at(-1)).toBe(429);
    expect(others[0]).toBe(401);
    // Codes and links have the same limit.
    const guesses: [path: string, body?: object][] = [
      ["auth/two-factor/verify-totp", { code: "000000" }],
      ["auth/two-factor/verify-backup-code", { code: "wrong" }],
      ["auth/reset-password", { token: "wrong", newPassword: "four green bicycles" }],
      ["auth/device?user_code=WRONGONE"],
      ["auth/device/deny", { userCode: "WRONGONE" }],
      ["setup", { ...OWNER, token: "wrong" }],
      ["setup?token=wrong"],
      ["invitations/wrong"],
      ["invitations/wrong/accept", {}],
    ];
    for (const [at, [path, body]] of guesses.entries()) {
      const browser = small.browser({ "x-forwarded-for": `203.0.113.${at}` });
      const statuses: number[] = [];
      for (let guess = 0; guess < 7; guess += 1)
        statuses.push((await browser.ask(body === undefined ? "GET" : "POST", `/manage/${path}`, body)).status);
      expect([path, statuses.indexOf(429)]).toEqual([path, 6]);
    }
    await small.close();
  });
});

describe("sessions", () => {
  test("PORTAL-01 are listed, and ended one by one or all but this one, only by their person", async () => {
    const joined = await gateway.join("sessions@example.eu");
    const laptop = gateway.browser({ "user-agent": "Laptop" });
    await signIn(laptop, "sessions@example.eu");
    const listed = (await laptop.get("/manage/me/sessions")).body.data;
    expect(listed).toMatchObject([{ user_agent: "Laptop", current: true, address: "127.0.0.1" }, { current: false }]);
    const stranger = await gateway.join("stranger@example.eu");
    expect((await stranger.ask("DELETE", `/manage/me/sessions/${listed[0].id}`)).status).toBe(404);
    expect((await laptop.ask("DELETE", "/manage/me/sessions")).body).toEqual({ ended: 1 });
    expect((await joined.get("/manage/me")).body.person).toBeNull();
    expect((await laptop.ask("DELETE", `/manage/me/sessions/${listed[0].id}`)).status).toBe(200);
    expect((await laptop.get("/manage/me")).body.person).toBeNull();
    const renamed = await stranger.ask("PATCH", "/manage/me", { name: "A Stranger" });
    expect(renamed.body.person.name).toBe("A Stranger");
    const { data } = await gateway.manage("GET", "/audit?action=person&limit=1000");
    const lines = data.map(({ actor, action }: Record<string, string>) => `${actor} ${action}`);
    for (const line of ["sessions@example.eu person.end_sessions", "sessions@example.eu person.end_session"])
      expect(lines).toContain(line);
    expect(lines).toContain("stranger@example.eu person.rename");
  });

  test("PORTAL-11 an expired session, and one of a disabled account, are invalid", async () => {
    const joined = await gateway.join("leaver@example.eu");
    const { data } = await gateway.manage("GET", "/people");
    const { id } = data.find(({ email }: { email: string }) => email === "leaver@example.eu");
    const disabled = await gateway.manage("POST", `/people/${id}/disable`, { disabled: true });
    expect(disabled).toMatchObject({ email: "leaver@example.eu", disabled: true, workspaces: [{ slug: "demo" }] });
    expect((await joined.get("/manage/workspaces")).status).toBe(401);
    const refused = await signIn(gateway.browser(), "leaver@example.eu");
    expect([refused.status, refused.body.error.message]).toEqual([403, expect.stringContaining("disabled")]);
    await gateway.manage("POST", `/people/${id}/disable`, { disabled: false });
    expect((await signIn(gateway.browser(), "leaver@example.eu")).status).toBe(200);
  });

  test("PORTAL-11 the store holds no token and no password in plain text", async () => {
    const browser = gateway.browser();
    await signIn(browser);
    const token = decodeURIComponent(browser.cookies.get("gateway.session_token") ?? "").split(".")[0] ?? "";
    const db = new DatabaseSync(`${gateway.dataDir}/gateway.sqlite`, { readOnly: true });
    const kept = JSON.stringify(
      ["people_sessions", "people_accounts", "people_links", "people_verifications", "meta", "audit_log"].map((table) =>
        db.prepare(`select * from ${table}`).all(),
      ),
      (_name, value) => (typeof value === "bigint" ? String(value) : value),
    );
    db.close();
    expect(token).toHaveLength(32);
    expect(kept).toContain("$argon2id$v=19$m=19456,t=2,p=1$");
    for (const secret of [token, PASSWORD, tokenOf(gateway.setupLink)]) expect(kept).not.toContain(secret);
  });
});

test("PORTAL-11 sessions survive a restart and a master key rotation", async () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-people-"));
  const first = await peopleGateway({ dataDir });
  const owner = await first.setUp();
  const cookies = new Map(owner.cookies);
  await first.manage("POST", "/master-key/rotate");
  await first.close();
  const second = await peopleGateway({ dataDir });
  expect(second.setupLink).toBeUndefined();
  const later = second.browser();
  for (const [name, value] of cookies) later.cookies.set(name, value);
  expect((await later.get("/manage/me")).body.person.email).toBe(OWNER.email);
  expect((await signIn(later)).status).toBe(200);
  await second.close();
  rmSync(dataDir, { recursive: true, force: true });
});

test("a used session is prolonged, including its cookie", async () => {
  const browser = gateway.browser();
  await signIn(browser);
  const db = openBooks(gateway.dataDir);
  const old = new Date(Date.now() - 10 * 60_000).toISOString();
  const soon = new Date(Date.now() + 3_600_000).toISOString();
  db.prepare("update people_sessions set updated_at = ?, expires_at = ?").run(old, soon);
  const me = await browser.get("/manage/me");
  expect(me.headers.getSetCookie().join()).toMatch(/^gateway\.session_token=.*Max-Age=604800/);
  const [current] = (await browser.get("/manage/me/sessions")).body.data;
  expect(Date.parse(current.expires_at) - Date.now()).toBeGreaterThan(6 * 86_400_000);
  // Others read the last-seen time from it.
  expect(Date.parse(current.last_seen_at)).toBeGreaterThan(Date.parse(old));
  expect((await browser.get("/manage/me")).headers.getSetCookie()).toEqual([]);
  db.exec("update people_sessions set expires_at = '2020-01-01T00:00:00.000Z'");
  db.close();
  expect((await browser.get("/manage/me")).body.person).toBeNull();
  expect((await browser.get("/manage/workspaces")).status).toBe(401);
});

describe("the operator's pages", () => {
  test("PORTAL-10 people are listed; the last operator stays, others can be appointed and dismissed", async () => {
    const joined = await gateway.join("second@example.eu");
    expect((await joined.get("/manage/people")).status).toBe(403);
    const { data } = await gateway.manage("GET", "/people?limit=1000");
    const idOf = (wanted: string) => data.find(({ email }: { email: string }) => email === wanted)?.id;
    const last = await gateway.call(gateway.adminToken, `/manage/people/${idOf(OWNER.email)}/operator`, {
      body: { operator: false },
    });
    expect([last.status, last.body.error.code]).toEqual([409, "conflict"]);
    const on = await gateway.manage("POST", `/people/${idOf("second@example.eu")}/operator`, { operator: true });
    expect(on.operator).toBe(true);
    expect((await joined.get("/manage/people")).status).toBe(200);
    await gateway.manage("POST", `/people/${idOf("second@example.eu")}/operator`, { operator: false });
    expect((await joined.get("/manage/people")).status).toBe(403);
    const page = await gateway.manage("GET", "/people?limit=2");
    const next = await gateway.manage("GET", `/people?limit=2&cursor=${page.next}`);
    const invented = await gateway.call(gateway.adminToken, "/manage/people?limit=2&cursor=unknown");
    expect([invented.status, invented.body.error?.param]).toEqual([400, "cursor"]);
    expect([page.data.length, next.data[0].id === page.data[1].id]).toEqual([2, false]);
  });

  test("PORTAL-08 the audit log has sign-ins and failures with their address, without secrets", async () => {
    await signIn(gateway.browser());
    await signIn(gateway.browser(), "guessed@example.eu", "three red bicycles");
    await signIn(gateway.browser(), "guessed@example.eu", "three red bicycles");
    const { data } = await gateway.manage("GET", "/audit?action=person&limit=1000");
    expect(data).toContainEqual(
      expect.objectContaining({
        actor: OWNER.email,
        action: "person.sign_in",
        detail: { how: "password", address: "127.0.0.1" },
      }),
    );
    const failed = data.filter(({ action }: { action: string }) => action === "person.sign_in_failed");
    const guessed = failed.filter(
      ({ detail }: { detail: { account: string } }) => detail.account === "guessed@example.eu",
    );
    expect(guessed).toHaveLength(1);
    expect(JSON.stringify(data)).not.toContain("bicycles");
  });
});

test("PORTAL-01 account settings are validated together", async () => {
  await expect(gatewayForTest({ env: { GATEWAY_SIGNUP: "open" } })).rejects.toThrow("GATEWAY_SMTP_URL");
  await expect(gatewayForTest({ env: { GATEWAY_OIDC_ISSUER: "https://id.example.eu" } })).rejects.toThrow(
    /GATEWAY_OIDC_CLIENT_ID.*\n.*GATEWAY_OIDC_CLIENT_SECRET.*\n.*GATEWAY_PUBLIC_URL/,
  );
  await expect(gatewayForTest({ env: { GATEWAY_OIDC_ISSUER: "http://id.example.eu" } })).rejects.toThrow("https");
});

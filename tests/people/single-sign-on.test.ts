import { afterAll, beforeAll, expect, test } from "vitest";
import { type IdentityProvider, startIdentityProvider } from "../support/oidc.ts";
import { type Browser, OWNER, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { startUpstream, unusedPort } from "../support/upstream.ts";

let provider: IdentityProvider;
let gateway: PeopleGateway;

const PEOPLE = [
  { sub: "ada", email: OWNER.email, email_verified: true, name: "Ada" },
  { sub: "grace", email: "Grace@Example.eu", email_verified: true, name: "Grace" },
  { sub: "mallory", email: OWNER.email, email_verified: false, name: "Mallory" },
  { sub: "unproven", email: "unproven@example.eu", email_verified: false, name: "Unproven" },
];

/** A provider that supports some values of `prompt`, and a gateway beside it. */
async function startBoth(prompts?: readonly string[]): Promise<[IdentityProvider, PeopleGateway]> {
  const started = await startIdentityProvider(`http://127.0.0.1:${await unusedPort()}`, PEOPLE, prompts);
  const beside = await peopleGateway({ env: { ...started.env, GATEWAY_OIDC_NAME: "Example ID" } });
  return [started, beside];
}

beforeAll(async () => {
  [provider, gateway] = await startBoth();
  await gateway.setUp();
});
afterAll(async () => {
  await gateway.close();
  await provider.close();
});

async function begin(browser: Browser) {
  const begun = await browser.post("/manage/auth/sign-in/social", {
    provider: "oidc",
    callbackURL: "/app",
    errorCallbackURL: "/app/sign-in",
  });
  expect([begun.status, begun.body.redirect]).toEqual([200, true]);
  return new URL(begun.body.url);
}

/** Signs in at the provider under a name; returns where the browser ends up. */
async function through(browser: Browser, sub: string): Promise<string | null> {
  const back = new URL(await provider.signIn((await begin(browser)).href, sub));
  const answer = await browser.get(`${back.pathname}${back.search}`);
  expect(answer.status).toBe(302);
  return answer.headers.get("location");
}

test("PORTAL-01 single sign-on creates an account for a verified address, with state, nonce and PKCE", async () => {
  const browser = gateway.browser();
  expect((await browser.get("/manage/me")).body.sign_in.oidc).toEqual({ name: "Example ID" });
  const { searchParams } = await begin(browser);
  for (const name of ["state", "nonce", "code_challenge"]) expect(searchParams.get(name)?.length).toBeGreaterThan(20);
  expect(searchParams.get("code_challenge_method")).toBe("S256");
  expect(await through(browser, "grace")).toMatch(/\/app$/);
  const me = (await browser.get("/manage/me")).body;
  expect([me.person.email, me.person.has_password, me.person.operator]).toEqual(["grace@example.eu", false, false]);
  expect(me.workspaces).toEqual([]);
});

test("PORTAL-01 the same verified address is the same account", async () => {
  const browser = gateway.browser();
  expect(await through(browser, "ada")).toMatch(/\/app$/);
  const { person } = (await browser.get("/manage/me")).body;
  expect([person.email, person.operator, person.has_password]).toEqual([OWNER.email, true, true]);
  const { data } = await gateway.manage("GET", "/audit?action=person.sign_in&limit=5");
  expect(data[0]).toMatchObject({ actor: OWNER.email, detail: { how: "single sign-on" } });
});

test("PORTAL-11 a signed-in person who signs in again is prompted by the provider", async () => {
  const browser = gateway.browser();
  expect((await begin(browser)).searchParams.get("prompt")).toBeNull();
  expect(await through(browser, "grace")).toMatch(/\/app$/);
  expect((await begin(browser)).searchParams.get("prompt")).toBe("login");
  expect(await through(browser, "grace")).toMatch(/\/app$/);
});

test("PORTAL-11 a provider that does not advertise prompt support gets no prompt parameter", async () => {
  const [silent, beside] = await startBoth(["none", "consent", "select_account"]);
  const browser = await beside.setUp();
  expect((await begin(browser)).searchParams.get("prompt")).toBeNull();
  await beside.close();
  await silent.close();
});

test("PORTAL-01 a provider that serves discovery and then stalls can still be redirected to", async () => {
  const [port, own] = [await unusedPort(), await unusedPort()];
  const issuer = `http://127.0.0.1:${port}`;
  const ends = { authorization_endpoint: `${issuer}/auth`, token_endpoint: `${issuer}/token` };
  const json = { issuer, ...ends, jwks_uri: `${issuer}/jwks`, userinfo_endpoint: `${issuer}/me` };
  // The second request accepts no compression.
  const halfway = await startUpstream(
    ({ headers }) =>
      headers["accept-encoding"] === "identity" ? { end: { is: "stall", after: "before_headers" } } : { json },
    port,
  );
  const beside = await peopleGateway({
    env: {
      PORT: String(own),
      GATEWAY_PUBLIC_URL: `http://127.0.0.1:${own}`,
      GATEWAY_OIDC_ISSUER: issuer,
      GATEWAY_OIDC_CLIENT_ID: "gateway",
      GATEWAY_OIDC_CLIENT_SECRET: "secret",
    },
  });
  expect((await begin(beside.browser())).href).toContain(`${issuer}/auth?`);
  await beside.close();
  await halfway.close();
});

test("PORTAL-11 an unverified address signs in to no account and creates none", async () => {
  for (const sub of ["mallory", "unproven"]) {
    const browser = gateway.browser();
    expect(await through(browser, sub)).toMatch(/\/app\/sign-in\?error=(email_not_verified|account_not_linked)/);
    expect((await browser.get("/manage/me")).body.person).toBeNull();
  }
  const { data } = await gateway.manage("GET", "/people?limit=100");
  expect(data.map(({ email }: { email: string }) => email)).not.toContain("unproven@example.eu");
});

test("PORTAL-11 a sign-in begun in one browser does not complete in another", async () => {
  const [mine, other] = [gateway.browser(), gateway.browser()];
  const back = new URL(await provider.signIn((await begin(mine)).href, "grace"));
  const answer = await other.get(`${back.pathname}${back.search}`);
  expect(answer.headers.get("location") ?? "").toContain("error=");
  expect((await other.get("/manage/me")).body.person).toBeNull();
});

test("PORTAL-11 never redirects to another site afterwards", async () => {
  const body = { provider: "oidc", callbackURL: "https://evil.example/", errorCallbackURL: "/app/sign-in" };
  expect((await gateway.browser().post("/manage/auth/sign-in/social", body)).status).toBe(403);
});

test("PORTAL-01 an unavailable provider does not prevent sign-in with a password", async () => {
  const port = await unusedPort();
  const alone = await peopleGateway({
    env: {
      GATEWAY_PUBLIC_URL: "http://127.0.0.1:1",
      GATEWAY_OIDC_ISSUER: `http://127.0.0.1:${port}`,
      GATEWAY_OIDC_CLIENT_ID: "gateway",
      GATEWAY_OIDC_CLIENT_SECRET: "secret",
    },
  });
  await alone.setUp();
  const browser = alone.browser();
  const gone = await browser.post("/manage/auth/sign-in/social", { provider: "oidc", callbackURL: "/app" });
  expect([gone.status, gone.body.error.code]).toEqual([503, "service_unavailable"]);
  const signedIn = await browser.post("/manage/auth/sign-in/email", { email: OWNER.email, password: OWNER.password });
  expect(signedIn.status).toBe(200);
  await alone.close();
});

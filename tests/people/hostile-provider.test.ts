import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import {
  CRIMES,
  HONEST,
  HOSTILE_KEYS,
  type HostileProvider,
  startHostileProvider,
  UNUSABLE,
} from "../support/hostile-oidc.ts";
import { type Browser, OWNER, type PeopleGateway, peopleGateway } from "../support/people.ts";
import { unusedPort } from "../support/upstream.ts";

/** The account that a forged sign-in would take over. */
const VICTIM = OWNER.email;

let provider: HostileProvider;
let gateway: PeopleGateway;

beforeAll(async () => {
  provider = await startHostileProvider(`http://127.0.0.1:${await unusedPort()}`, VICTIM);
  gateway = await peopleGateway({ env: provider.env });
  await gateway.setUp();
});
afterAll(async () => {
  await gateway?.close();
  await provider?.close();
});
beforeEach(() => provider.commit("none"));

async function begin(browser: Browser): Promise<URL> {
  const paths = { callbackURL: "/app", errorCallbackURL: "/app/sign-in" };
  return new URL((await browser.post("/manage/auth/sign-in/social", { provider: "oidc", ...paths })).body.url);
}

/** Where the provider sends the browser back to. */
const callback = async (browser: Browser): Promise<URL> =>
  new URL(await provider.signIn((await begin(browser)).href, "ada"));

/** Where the browser ends up, and who it is then. */
async function arrive(browser: Browser, { pathname, search }: URL) {
  const { status, headers } = await browser.get(`${pathname}${search}`);
  const me = await browser.get("/manage/me");
  return { status, at: headers.get("location") ?? "", person: me.body.person?.email ?? null };
}

const REFUSED = { status: 302, at: expect.stringContaining("/app/sign-in?error="), person: null };

test.each(HONEST)("PORTAL-01 a provider's tokens sign in their subject: %s", async (variant) => {
  await provider.commit(variant);
  const browser = gateway.browser();
  const arrived = await arrive(browser, await callback(browser));
  expect(arrived).toEqual({ status: 302, at: expect.stringMatching(/\/app$/), person: VICTIM });
});

test.each(CRIMES)("PORTAL-11 falsified tokens do not sign in: %s", async (crime) => {
  await provider.commit(crime);
  const browser = gateway.browser();
  expect(await arrive(browser, await callback(browser))).toEqual(REFUSED);
  expect([...browser.cookies.keys()].filter((name) => name.includes("session"))).toEqual([]);
});

describe("a callback", () => {
  test("PORTAL-11 signs in once: replayed in the same or another browser it is refused", async () => {
    const browser = gateway.browser();
    const back = await callback(browser);
    const jar = new Map(browser.cookies);
    expect((await arrive(browser, back)).person).toBe(VICTIM);
    const again = gateway.browser();
    for (const [name, value] of jar) again.cookies.set(name, value);
    expect(await arrive(again, back)).toEqual(REFUSED);
    expect((await arrive(gateway.browser(), back)).person).toBeNull();
  });

  test.each<[string, (back: URL, other: URL) => void]>([
    ["without a state", (back) => back.searchParams.delete("state")],
    ["with a state that was never issued", (back) => back.searchParams.set("state", "x".repeat(32))],
    [
      "with the state of another sign-in",
      (back, other) => back.searchParams.set("state", other.searchParams.get("state") ?? ""),
    ],
    [
      "with the code of another sign-in",
      (back, other) => back.searchParams.set("code", other.searchParams.get("code") ?? ""),
    ],
    ["without a code", (back) => back.searchParams.delete("code")],
    ["with an unknown code", (back) => back.searchParams.set("code", "unknown")],
    ["of another issuer", (back) => back.searchParams.set("iss", "https://another-issuer.example")],
  ])("PORTAL-11 %s does not sign in", async (_name, change) => {
    const [browser, stranger] = [gateway.browser(), gateway.browser()];
    const [back, other] = [await callback(browser), await callback(stranger)];
    change(back, other);
    const { at, person } = await arrive(browser, back);
    expect(person).toBeNull();
    expect(at).toContain("error=");
  });
});

test("PORTAL-11 an ID token is accepted from the provider only, never from a client", async () => {
  const browser = gateway.browser();
  const idToken = { token: "e30.e30.x", nonce: "n" };
  const posted = await browser.post("/manage/auth/sign-in/social", { provider: "oidc", callbackURL: "/app", idToken });
  expect([posted.status, posted.body.error.code]).toEqual([400, "unsupported_parameter"]);
});

test("PORTAL-11 SAFE-01 keys beyond the limits of documents verify no token", async () => {
  await provider.commit(HOSTILE_KEYS);
  const beside = await peopleGateway({ env: { ...provider.env, PORT: "0" } });
  onTestFinished(() => beside.close());
  await beside.setUp();
  const refused = beside.browser();
  expect(await arrive(refused, await callback(refused))).toEqual(REFUSED);
  await provider.commit("none");
  const accepted = beside.browser();
  expect((await arrive(accepted, await callback(accepted))).person).toBe(VICTIM);
});

test.each(UNUSABLE)("PORTAL-11 SAFE-01 single sign-on is unavailable: %s", async (crime) => {
  await provider.commit(crime);
  const beside = await peopleGateway({ env: { ...provider.env, PORT: "0" } });
  const begun = await beside.browser().post("/manage/auth/sign-in/social", { provider: "oidc", callbackURL: "/app" });
  await beside.close();
  expect([begun.status, begun.body.error.code]).toEqual([503, "service_unavailable"]);
});

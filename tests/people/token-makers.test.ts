import { AsyncLocalStorage } from "node:async_hooks";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { caller } from "../../src/app/manage/acting.ts";
import { type IdentityProvider, proven, startIdentityProvider } from "../support/oidc.ts";
import { type Asked, type Browser, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";
import { unusedPort } from "../support/upstream.ts";

let provider: IdentityProvider;
let gateway: PeopleGateway;
let owner: Browser;
const nothing = async (): Promise<void> => {};
/** What happens before a change is written. */
let before = nothing;
/** What happens before a person is looked at. */
let looking = nothing;
/** What happens once an address was looked up. */
let named = nothing;
/** What happens before it is looked whether somebody has a password. */
let writing = nothing;

beforeAll(async () => {
  const known = proven("waits", "meanwhile", "accepts", "changes", "link", "own-link", "device", "stranger");
  provider = await startIdentityProvider(`http://127.0.0.1:${await unusedPort()}`, known);
  gateway = await peopleGateway({
    env: provider.env,
    prepare: async (store) => {
      const { change, people, peopleDatabase } = store;
      store.peopleDatabase = async () => {
        const open = await peopleDatabase();
        return (options) => {
          const adapter = open(options);
          const { findOne, findMany } = adapter;
          const lookedAt = async (model: string) => (model === "account" ? writing() : undefined);
          return {
            ...adapter,
            findOne: async <T>(query: Parameters<typeof findOne>[0]) => {
              await lookedAt(query.model);
              return findOne<T>(query);
            },
            findMany: async <T>(query: Parameters<typeof findMany>[0]) => {
              await lookedAt(query.model);
              return findMany<T>(query);
            },
          };
        };
      };
      const { person, personByEmail } = people;
      people.personByEmail = async (email) => {
        const found = await personByEmail(email);
        await named();
        return found;
      };
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

type Losing = (email: string, id: string) => Promise<Asked>;
const WAYS: [string, string, boolean, Losing][] = [
  ["removed", "demo", false, (email) => owner.ask("DELETE", `${MEMBERS}/${email}`)],
  ["lowered", "demo", false, (email) => owner.ask("PATCH", `${MEMBERS}/${email}`, { role: "admin" })],
  ["disabled", "demo", false, (_, id) => owner.post(`/manage/people/${id}/disable`, { disabled: true })],
  ["erased", "demo", false, (_, id) => owner.post(`/manage/people/${id}/erase`)],
  ["no-operator", "second", true, (_, id) => owner.post(`/manage/people/${id}/operator`, { operator: false })],
];

/** As whom those call who wait: an invitation is accepted by its token, in nobody's name. */
type As = "somebody" | "nobody";

/** How many have their place in the turn: who takes it says as whom they call, which nobody else does before it. */
function watchTurn(as: As): { readonly standing: () => number; readonly end: () => void } {
  const asked = vi.spyOn(AsyncLocalStorage.prototype, "getStore");
  caller();
  const [acting] = asked.mock.contexts;
  asked.mockClear();
  const isOne = (value: unknown) => (value === undefined) === (as === "nobody");
  const { mock } = asked;
  return {
    standing: () => mock.results.filter(({ value }, at) => mock.contexts[at] === acting && isOne(value)).length,
    end: () => asked.mockRestore(),
  };
}

/** What was asked while the change waited that `lose` makes is answered after it, unless it is refused at the door. */
async function waitingBehind(
  lose: () => Promise<Asked>,
  ask: () => Promise<Asked>[],
  as: As = "somebody",
): Promise<[Asked, Asked[]]> {
  const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  before = () => {
    begun.resolve();
    return gate.promise;
  };
  const losing = lose();
  await begun.promise;
  const turn = watchTurn(as);
  let refused = 0;
  const asking = ask().map(async (one) => {
    const answer = await one;
    refused += 1;
    return answer;
  });
  try {
    await vi.waitFor(() => expect(turn.standing() + refused).toBe(asking.length));
  } finally {
    turn.end();
    before = nothing;
    gate.resolve();
  }
  return [await losing, await Promise.all(asking)];
}

test.each(WAYS)(
  "PORTAL-11 nothing is changed that waits for its turn while who asked for it is %s",
  async (is, home, operator, lose) => {
    const email = `${is}@example.eu`;
    const browser = await gateway.join(email, "owner", home);
    const { id } = await personOf(email);
    if (operator) await gateway.manage("POST", `/people/${id}/operator`, { operator });
    const { token } = (await browser.post(TOKENS, TOKEN)).body;
    const friend = (name: string) => ({ email: `${name}-of-${is}@example.eu`, role: "admin" });
    const [lost, [byToken, ...asked]] = await waitingBehind(
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
    expect(asked.map(({ status, body }) => [status, body.error?.code])).toEqual(
      asked.map(() => [403, "insufficient_role"]),
    );
  },
);

/** An account in another's name, who is about to come back from the provider of single sign-on. */
async function squatted(sub: string, role = "owner") {
  const [email, mallory] = [`${sub}@example.eu`, await gateway.join(`mallory-of-${sub}@example.eu`, "owner")];
  const { link } = (await mallory.post(INVITATIONS, { email, role })).body;
  const [squatter, victim] = [gateway.browser(), gateway.browser()];
  const account = { name: "Mallory", password: PASSWORD };
  expect((await squatter.post(`/manage/invitations/${tokenOf(link)}/accept`, account)).status).toBe(200);
  const { url } = (await victim.post("/manage/auth/sign-in/social", { provider: "oidc", callbackURL: "/app" })).body;
  const back = new URL(await provider.signIn(url, sub));
  return { email, mallory, squatter, comes: () => victim.get(`${back.pathname}${back.search}`) };
}

test("PORTAL-11 nothing is changed that waits for its turn while the account starts over", async () => {
  const { squatter, comes } = await squatted("waits");
  const friend = { email: "friend-of-squatter@example.eu", role: "admin" };
  const colleague = "colleague@example.eu";
  await gateway.join(colleague);
  const { id } = (await owner.post(INVITATIONS, { email: "awaited@example.eu" })).body;
  const [came, asked] = await waitingBehind(comes, () => [
    squatter.post(TOKENS, TOKEN),
    squatter.post(MEMBERS, friend),
    squatter.post(INVITATIONS, friend),
    squatter.ask("DELETE", `${INVITATIONS}/${id}`),
    squatter.post(`${MEMBERS}/${colleague}/reset-link`),
  ]);
  expect([came.status, came.headers.get("location")]).toEqual([302, "/app"]);
  expect(asked.map(({ status, body }) => [status, body.error?.code])).toEqual(asked.map(() => [401, "not_signed_in"]));
});

test("PORTAL-11 nor is an invitation accepted by a session that ended while it waited", async () => {
  const { email, squatter, comes } = await squatted("accepts");
  const { link } = await gateway.manage("POST", "/workspaces/second/invitations", { email, role: "member" });
  const accept = () => [squatter.post(`/manage/invitations/${tokenOf(link)}/accept`, {})];
  const [came, [accepted]] = await waitingBehind(comes, accept, "nobody");
  expect(came.status).toBe(302);
  expect([accepted?.status, accepted?.body.error?.code]).toEqual([401, "not_signed_in"]);
});

/** The call is under way when whoever is meant comes, and the account starts over. */
async function underWay(ask: () => Promise<Asked>, comes: () => Promise<Asked>): Promise<Asked> {
  looking = async () => {
    looking = nothing;
    expect((await comes()).headers.get("location")).toBe("/app");
  };
  const answer = await ask();
  expect(looking).toBe(nothing);
  return answer;
}

const OVER = [401, "not_signed_in"];

test("PORTAL-11 a password that was right signs nobody in once the account has started over meanwhile", async () => {
  const { email, comes } = await squatted("meanwhile");
  const browser = gateway.browser();
  const signIn = { email, password: PASSWORD };
  const answer = await underWay(() => browser.post("/manage/auth/sign-in/email", signIn), comes);
  expect([answer.status, answer.body.error?.code]).toEqual([401, "invalid_sign_in"]);
  expect((await browser.get("/manage/me")).body.person).toBeNull();
});

test("PORTAL-11 nor does a new password that was on its way", async () => {
  const { email, squatter, comes } = await squatted("changes");
  const newPassword = "nine yellow bicycles";
  const change = { currentPassword: PASSWORD, newPassword };
  const answer = await underWay(() => squatter.post("/manage/auth/change-password", change), comes);
  expect([answer.status, answer.body.error?.code]).toEqual(OVER);
  expect((await squatter.get("/manage/me")).body.person).toBeNull();
  const browser = gateway.browser();
  expect((await browser.post("/manage/auth/sign-in/email", { email, password: newPassword })).status).toBe(401);
});

test.each([
  ["link", "nobody"],
  ["own-link", "its maker"],
])("PORTAL-11 nor does a link to a new password (%s) that is used by %s, who is signed in", async (sub, by) => {
  const { email, mallory, comes } = await squatted(sub, "member");
  const { link } = (await mallory.post(`${MEMBERS}/${email}/reset-link`)).body;
  const [token, newPassword] = [new URL(link).searchParams.get("token"), "nine yellow bicycles"];
  writing = async () => {
    writing = nothing;
    expect((await comes()).headers.get("location")).toBe("/app");
  };
  const browser = by === "nobody" ? gateway.browser() : mallory;
  const answer = await browser.post("/manage/auth/reset-password", { newPassword, token });
  expect([writing, answer.status, answer.body.error?.code]).toEqual([nothing, ...OVER]);
  const signIn = { email, password: newPassword };
  expect((await gateway.browser().post("/manage/auth/sign-in/email", signIn)).status).toBe(401);
});

test("PORTAL-11 nor does a device that was allowed", async () => {
  const { squatter, comes } = await squatted("device");
  const device = gateway.browser();
  const client_id = "gateway-cli";
  const { user_code, device_code } = (await device.post("/manage/auth/device/code", { client_id })).body;
  await squatter.get(`/manage/auth/device?user_code=${user_code}`);
  expect((await squatter.post("/manage/auth/device/approve", { userCode: user_code })).status).toBe(200);
  const asked = { grant_type: "urn:ietf:params:oauth:grant-type:device_code", device_code, client_id };
  const answer = await underWay(() => device.post("/manage/auth/device/token", asked), comes);
  expect([answer.status, answer.body.access_token]).toEqual([401, undefined]);
});

test("PORTAL-11 who does not know the password takes nothing away", async () => {
  const { email, comes } = await squatted("stranger");
  named = async () => {
    named = nothing;
    expect((await comes()).headers.get("location")).toBe("/app");
  };
  const wrong = { email, password: "not at all the password" };
  expect((await gateway.browser().post("/manage/auth/sign-in/email", wrong)).status).toBe(401);
  expect(named).toBe(nothing);
  const { data } = await gateway.manage("GET", "/audit?action=person.start_over&limit=100");
  const { id } = await personOf(email);
  expect(data.filter(({ target }: { target: string }) => target === id)).toHaveLength(1);
});

test("PORTAL-11 an invitation that waits to be accepted while its maker is removed opens nothing", async () => {
  const [email, maker] = ["elsewhere@example.eu", "inviting@example.eu"];
  const [second, admin] = [await gateway.join(email, "member", "second"), await gateway.join(maker, "admin")];
  const { link } = (await admin.post(INVITATIONS, { email, role: "admin" })).body;
  const [, [accepted]] = await waitingBehind(
    () => owner.ask("DELETE", `${MEMBERS}/${maker}`),
    () => [second.post(`/manage/invitations/${tokenOf(link)}/accept`)],
    "nobody",
  );
  expect(accepted?.status).toBe(404);
});

test("PORTAL-11 promotional credit ends at its date, also when who gave it runs the gateway no more", async () => {
  const email = "generous@example.eu";
  const browser = await gateway.join(email);
  const { id } = await personOf(email);
  const run = (operator: boolean) => gateway.manage("POST", `/people/${id}/operator`, { operator });
  await run(true);
  const expires_at = new Date(Date.now() + 1500).toISOString();
  const given = { amount: "5", expires_at, reference: "welcome" };
  expect((await browser.post("/manage/workspaces/second/wallet/promotions", given)).status).toBe(201);
  await run(false);
  await vi.waitFor(
    async () => expect((await gateway.manage("GET", "/audit?action=wallet.expire")).data).toHaveLength(1),
    { timeout: 5000 },
  );
});

test("PORTAL-11 disabling an account that breaks off leaves it as it was, and done again it ends the other tokens", async () => {
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

import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Asked, type Browser, type PeopleGateway, peopleGateway } from "../support/people.ts";

let gateway: PeopleGateway;
let owner: Browser;
const nothing = async (): Promise<void> => {};
/** What happens before a change is written. */
let before = nothing;

beforeAll(async () => {
  gateway = await peopleGateway({
    prepare: async (store) => {
      const { change } = store;
      store.change = async (work) => {
        await before();
        return change(work);
      };
    },
  });
  owner = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "second" });
});
afterAll(() => gateway.close());

const MEMBERS = "/manage/workspaces/demo/members";
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
  ["no-operator", "second", true, (_, id) => owner.post(`/manage/people/${id}/operator`, { operator: false })],
];

test.each(WAYS)(
  "PORTAL-11 a management token that waits for its turn while its maker is %s is not made",
  async (is, home, operator, lose) => {
    const email = `${is}@example.eu`;
    const browser = await gateway.join(email, "owner", home);
    const { id } = await personOf(email);
    if (operator) await gateway.manage("POST", `/people/${id}/operator`, { operator });
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    before = () => {
      begun.resolve();
      return gate.promise;
    };
    const losing = lose(email, id);
    await begun.promise;
    const making = browser.post(TOKENS, TOKEN);
    // Time enough to be let in and to wait.
    await sleep(300);
    before = nothing;
    gate.resolve();
    const [lost, made] = await Promise.all([losing, making]);
    expect([lost.status, made.status, made.body.error?.code]).toEqual([200, 403, "insufficient_role"]);
  },
);

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

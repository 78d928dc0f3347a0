import { afterAll, beforeAll, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { type Browser, OWNER, type PeopleGateway, peopleGateway } from "../support/people.ts";

let gateway: PeopleGateway;
let owner: Browser;
let member: Browser;
beforeAll(async () => {
  gateway = await peopleGateway();
  owner = await gateway.setUp();
  member = await gateway.join("clara@example.eu");
  await gateway.manage("POST", "/workspaces/demo/members", { email: "dora@example.eu" });
});
afterAll(() => gateway.close());

async function seenBy(browser: Browser): Promise<Record<string, Json>> {
  const { status, body } = await browser.get("/manage/workspaces/demo/members");
  expect(status).toBe(200);
  return Object.fromEntries(body.data.map((one: Json) => [one.email, one]));
}

test("PORTAL-08 an owner sees who has joined and how accounts are protected", async () => {
  expect(await seenBy(owner)).toMatchObject({
    [OWNER.email]: { joined: true, name: OWNER.name, role: "owner", two_factor: false, passkeys: 0 },
    "clara@example.eu": { joined: true, name: "clara", two_factor: false, last_seen_at: expect.any(String) },
    "dora@example.eu": { joined: false, name: null, two_factor: null, passkeys: null, last_seen_at: null },
  });
});

test("PORTAL-08 PORTAL-11 a member sees this for themselves only", async () => {
  const hidden = { two_factor: null, passkeys: null, last_seen_at: null };
  expect(await seenBy(member)).toMatchObject({
    [OWNER.email]: { joined: true, name: OWNER.name, ...hidden },
    "clara@example.eu": { two_factor: false, passkeys: 0, last_seen_at: expect.any(String) },
  });
});

test("PORTAL-11 only an owner renames the workspace", async () => {
  const rename = (browser: Browser, name: string) => browser.ask("PATCH", "/manage/workspaces/demo", { name });
  const admin = await gateway.join("bruno@example.eu", "admin");
  for (const browser of [member, admin]) {
    const refused = await rename(browser, "Mine");
    expect([refused.status, refused.body.error.code]).toEqual([403, "insufficient_role"]);
  }
  expect((await rename(owner, "Research")).body).toMatchObject({ slug: "demo", name: "Research" });
  expect((await member.get("/manage/me")).body.workspaces).toMatchObject([{ slug: "demo", name: "Research" }]);
});

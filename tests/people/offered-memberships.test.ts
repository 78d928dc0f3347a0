import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import {
  ageSessions,
  type Browser,
  OWNER,
  PASSWORD,
  type PeopleGateway,
  peopleGateway,
  tokenOf,
} from "../support/people.ts";
import { bare } from "./permission-scene.ts";

const MEMBERS = "/manage/workspaces/demo/members";
const INVITATIONS = "/manage/workspaces/demo/invitations";

let gateway: PeopleGateway;
/** An owner and an admin of demo, and an owner of another workspace; none is an operator. */
let [chief, admin, boss]: Browser[] = [];
let operator: Browser;

beforeAll(async () => {
  gateway = await peopleGateway();
  operator = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "corp" });
  chief = await gateway.join("chief@example.eu", "owner");
  admin = await gateway.join("mallory@example.eu", "admin");
  boss = await gateway.join("boss@corp.example", "owner", "corp");
});
afterAll(() => gateway.close());

const write = async (email: string, role = "member") => admin?.post(MEMBERS, { email, role });
const invite = async (browser: Browser | undefined, email: string, workspace = "demo", role = "member") =>
  (await browser?.post(`/manage/workspaces/${workspace}/invitations`, { email, role }))?.body.link;
const accept = (browser: Browser, link: string) =>
  browser.post(`/manage/invitations/${tokenOf(link)}/accept`, { name: "Newly Hired", password: PASSWORD });
const slugsOf = async (browser: Browser) =>
  (await browser.get("/manage/me")).body.workspaces.map(({ slug, role }: Json) => [slug, role]);
const rowOf = async (email: string) =>
  (await admin?.get(`${MEMBERS}?limit=1000`))?.body.data.find((one: Json) => one.email === email);

describe("an address that an admin adds to the workspace", () => {
  test("PORTAL-11 does not restrict other workspaces: their invitations and reset links stay valid", async () => {
    const email = "newhire@corp.example";
    expect((await write(email, "admin"))?.status).toBe(201);
    const recruit = gateway.browser();
    expect((await accept(recruit, await invite(boss, email, "corp"))).status).toBe(200);
    expect(await slugsOf(recruit)).toEqual([["corp", "member"]]);
    expect((await boss?.post(`/manage/workspaces/corp/members/${email}/reset-link`))?.status).toBe(201);
  });

  test("PORTAL-11 reveals nothing about the person: responses equal those for an unknown address", async () => {
    await gateway.join("known@corp.example", "member", "corp");
    const seen = async (email: string) => {
      const answers = [
        await write(email),
        await write(email),
        await admin?.post(`${MEMBERS}/${email}/reset-link`),
        await admin?.post(INVITATIONS, { email }),
        await admin?.ask("PATCH", `${MEMBERS}/${email}`, { role: "admin" }),
      ];
      const { id: _, created_at: __, ...row } = await rowOf(email);
      answers.push(await admin?.ask("DELETE", `${MEMBERS}/${email}`));
      const refusals = answers.map((answer) => answer?.body.error?.message ?? "");
      return bare(JSON.stringify([answers.map((answer) => answer?.status), refusals, row]), email);
    };
    const known = await seen("known@corp.example");
    expect(known).toBe(await seen("fresh@corp.example"));
    expect(known).toContain("[201,409,404,201,200,200]");
    expect(known).toContain('"joined":false,"name":null,"two_factor":null,"passkeys":null,"last_seen_at":null');
  });

  test("PORTAL-11 has an offered membership until an invitation is accepted", async () => {
    const email = "writer@corp.example";
    const writer = await gateway.join(email, "member", "corp");
    await write(email, "admin");
    expect(await slugsOf(writer)).toEqual([["corp", "member"]]);
    expect((await writer.get("/manage/workspaces/demo")).status).toBe(404);
    const { id } = await rowOf(email);
    expect((await accept(writer, await invite(admin, email))).status).toBe(200);
    expect(await slugsOf(writer)).toEqual([
      ["demo", "admin"],
      ["corp", "member"],
    ]);
    expect(await rowOf(email)).toMatchObject({ id, joined: true, name: "writer", last_seen_at: expect.any(String) });
    const again = await admin?.post(INVITATIONS, { email });
    expect([again?.status, again?.body.error.code]).toEqual([409, "conflict"]);
  });

  test("PORTAL-11 an offered membership is not accepted by a link with a lower role", async () => {
    for (const [email, browser] of [
      ["heir@corp.example", await gateway.join("heir@corp.example", "member", "corp")],
      ["heiress@corp.example", gateway.browser()],
    ] as const) {
      const link = await invite(admin, email);
      expect((await chief?.post(MEMBERS, { email, role: "owner" }))?.status).toBe(201);
      const taken = await accept(browser, link);
      expect([taken.status, taken.body.error.code]).toEqual([403, "not_allowed"]);
      expect((await accept(browser, await invite(chief, email))).status).toBe(200);
      expect(await slugsOf(browser)).toContainEqual(["demo", "owner"]);
    }
  });

  test("PORTAL-11 gets the role of the accepted invitation, also a higher one", async () => {
    for (const [email, browser] of [
      ["raised@corp.example", await gateway.join("raised@corp.example", "member", "corp")],
      ["risen@corp.example", gateway.browser()],
    ] as const) {
      const link = await invite(chief, email, "demo", "owner");
      expect((await write(email))?.status).toBe(201);
      expect((await accept(browser, link)).body).toEqual({ workspace: "demo", role: "owner" });
      expect(await slugsOf(browser)).toContainEqual(["demo", "owner"]);
    }
  });

  test("PORTAL-11 loses its open invitations with a lower role, because they granted more", async () => {
    const email = "lowered@corp.example";
    await write(email, "admin");
    const link = await invite(admin, email);
    expect((await chief?.ask("PATCH", `${MEMBERS}/${email}`, { role: "member" }))?.status).toBe(200);
    const browser = gateway.browser();
    expect((await accept(browser, link)).status).toBe(404);
    expect((await accept(browser, await invite(admin, email))).body).toEqual({ workspace: "demo", role: "member" });
  });

  test("PORTAL-11 an accepted membership keeps its role, whatever the invitation says", async () => {
    const email = "settled@corp.example";
    const browser = await gateway.join(email, "member", "corp");
    const link = await invite(chief, email, "demo", "owner");
    await gateway.cli("member", "add", "demo", email);
    expect((await accept(browser, link)).body).toEqual({ workspace: "demo", role: "member" });
    expect(await slugsOf(browser)).toContainEqual(["demo", "member"]);
  });

  test("PORTAL-11 gets no alerts and is not shown as owner until it accepts", async () => {
    const email = "quiet@corp.example";
    await chief?.post(MEMBERS, { email, role: "owner" });
    const named = async () => {
      const { body } = (await chief?.ask("PUT", "/manage/workspaces/demo/alerts", { mail_to: null })) ?? {};
      const { data } = (await operator.get("/manage/workspace-summaries")).body;
      const { owners } = data.find(({ slug }: Json) => slug === "demo");
      return [body.recipients.includes(email), owners.includes(email)];
    };
    expect(await named()).toEqual([false, false]);
    expect((await accept(gateway.browser(), await invite(chief, email))).status).toBe(200);
    expect(await named()).toEqual([true, true]);
  });

  test("PORTAL-11 does not count as an owner: the only owner cannot leave", async () => {
    const at = "/manage/workspaces/corp/members";
    await boss?.post(at, { email: "absent@corp.example", role: "owner" });
    const left = await boss?.ask("DELETE", `${at}/boss@corp.example`);
    expect([left?.status, left?.body.error.code]).toEqual([409, "conflict"]);
    expect((await boss?.ask("DELETE", `${at}/absent@corp.example`))?.status).toBe(200);
  });
});

test("PORTAL-11 an address the operator adds is a member immediately, or once it has an account", async () => {
  const known = await gateway.join("added@corp.example", "member", "corp");
  for (const email of ["added@corp.example", "coming@corp.example"]) {
    const added = await gateway.cli("member", "add", "demo", email, "--role", "admin", "--json");
    expect(added.json).toMatchObject({ email, role: "admin" });
  }
  const coming = await gateway.join("coming@corp.example", "member", "corp");
  for (const browser of [known, coming])
    expect(await slugsOf(browser)).toEqual([
      ["demo", "admin"],
      ["corp", "member"],
    ]);
});

describe("an address that an admin has added", () => {
  const roleBy = (email: string, role: string) =>
    gateway.cli("member", "role", "demo", email, "--role", role, "--json");

  test("PORTAL-11 becomes a member when the operator adds it or sets its role, with the same id", async () => {
    for (const [email, role] of [
      ["by-add@corp.example", "owner"],
      ["by-role@corp.example", "member"],
    ] as const) {
      const browser = await gateway.join(email, "member", "corp");
      await write(email);
      const { id } = await rowOf(email);
      const given =
        role === "owner"
          ? await gateway.cli("member", "add", "demo", email, "--role", role, "--json")
          : await roleBy(email, role);
      expect(given.json).toMatchObject({ id, email, role });
      expect(await slugsOf(browser)).toContainEqual(["demo", role]);
      expect(await rowOf(email)).toMatchObject({ id, role, joined: true });
      expect((await gateway.cli("member", "add", "demo", email)).code).not.toBe(0);
    }
  });

  test("PORTAL-11 stays an offer when its account was created with an admin's link", async () => {
    const email = "unproven@corp.example";
    const browser = gateway.browser();
    expect((await accept(browser, await invite(boss, email, "corp"))).status).toBe(200);
    await write(email);
    const refusals = [await gateway.cli("member", "add", "demo", email), await roleBy(email, "admin")];
    for (const { code, stderr } of refusals) {
      expect(code).not.toBe(0);
      expect(stderr).toContain("Send an invitation");
    }
    expect(await slugsOf(browser)).toEqual([["corp", "member"]]);
    expect(await rowOf(email)).toMatchObject({ role: "member", joined: false });
  });

  test("PORTAL-11 gets its offered role from an operator with a recent sign-in", async () => {
    const email = "by-session@corp.example";
    await write(email, "admin");
    ageSessions(gateway.dataDir, OWNER.email);
    const given = await operator.ask("PATCH", `${MEMBERS}/${email}`, { role: "admin" });
    expect([given.status, given.body.error?.code]).toEqual([403, "fresh_sign_in_needed"]);
  });
});

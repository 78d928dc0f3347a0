import { readFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PROJECT_ROOT } from "../../src/settings/config.ts";
import { Authenticator, addPasskey, byPasskey } from "../support/authenticator.ts";
import { type Browser, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";
import { totpOf } from "../support/totp.ts";

let gateway: PeopleGateway;
let owner: Browser;

beforeAll(async () => {
  gateway = await peopleGateway({ env: { GATEWAY_SIGN_IN_ADDRESS_TRIES: "1000" } });
  owner = await gateway.setUp();
  await gateway.manage("POST", "/workspaces", { slug: "second" });
});
afterAll(() => gateway.close());

const MEMBERS = "/manage/workspaces/demo/members";
const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.post("/manage/auth/sign-in/email", { email, password });

const idOf = async (email: string) => {
  const { data } = await gateway.manage("GET", "/people?limit=1000");
  return data.find((one: { email: string }) => one.email === email).id;
};

describe("a password reset link", () => {
  const RESET = "/manage/auth/reset-password";
  const newPassword = "eight green bicycles";
  const reset = (link: string) => gateway.browser().post(RESET, { token: tokenOf(link), newPassword });
  /** Every way to send its token. */
  const everyWay = async (link: string) => {
    const query = `${RESET}?${new URLSearchParams({ token: tokenOf(link) })}`;
    const sent = [
      () => gateway.browser().post(query, { newPassword }),
      () => gateway.browser().post(query, { newPassword, token: "" }),
      () => reset(link),
    ];
    const statuses: number[] = [];
    for (const send of sent) statuses.push((await send()).status);
    return statuses;
  };
  const REFUSED = [400, 400, 400];

  test("PORTAL-11 of an admin is invalid after a promotion of the account or removal of the admin", async () => {
    const admin = await gateway.join("helping@example.eu", "admin");
    const made = async (email: string) => {
      await gateway.join(email);
      const answer = await admin.post(`${MEMBERS}/${email}/reset-link`);
      expect(answer.status).toBe(201);
      return answer.body.link;
    };
    const links = [await made("grows@example.eu"), await made("rises@example.eu"), await made("stays@example.eu")];
    const [grows, rises, stays] = links;
    const again = (await admin.post(`${MEMBERS}/stays@example.eu/reset-link`)).body.link;
    await gateway.manage("POST", "/workspaces/second/members", { email: "grows@example.eu", role: "owner" });
    const { data } = await gateway.manage("GET", "/people?limit=1000");
    const { id } = data.find(({ email }: { email: string }) => email === "rises@example.eu");
    await gateway.manage("POST", `/people/${id}/operator`, { operator: true });
    expect(await everyWay(grows)).toEqual(REFUSED);
    expect(await everyWay(rises)).toEqual(REFUSED);
    expect((await reset(stays)).status).toBe(200);
    await owner.ask("DELETE", `${MEMBERS}/helping@example.eu`);
    expect(await everyWay(again)).toEqual(REFUSED);
  });

  test("PORTAL-11 of an admin is invalid once the person's role exceeds the admin's, or was removed", async () => {
    const admin = await gateway.join("patient@example.eu", "admin");
    const made = async (email: string) => {
      await gateway.join(email);
      return (await admin.post(`${MEMBERS}/${email}/reset-link`)).body.link;
    };
    const [promoted, raised, removed] = [
      await made("promoted@example.eu"),
      await made("raised@example.eu"),
      await made("removed@example.eu"),
    ];
    await owner.ask("PATCH", `${MEMBERS}/promoted@example.eu`, { role: "owner" });
    await owner.ask("PATCH", `${MEMBERS}/raised@example.eu`, { role: "admin" });
    await owner.ask("DELETE", `${MEMBERS}/removed@example.eu`);
    expect(await everyWay(promoted)).toEqual(REFUSED);
    expect(await everyWay(raised)).toEqual(REFUSED);
    expect(await everyWay(removed)).toEqual(REFUSED);
    expect((await signIn(gateway.browser(), "promoted@example.eu")).status).toBe(200);
    const again = await admin.post(`${MEMBERS}/raised@example.eu/reset-link`);
    expect((await reset(again.body.link)).status).toBe(200);
  });

  test("PORTAL-11 is accepted in the body only: no mutating route has a query", async () => {
    await gateway.join("asks@example.eu");
    const { link } = await gateway.manage("POST", `/people/${await idOf("asks@example.eu")}/reset-link`);
    const token = tokenOf(link);
    const refused = await gateway.browser().post(`${RESET}?token=${token}`, { token, newPassword });
    expect([refused.status, refused.body.error]).toMatchObject([
      400,
      { code: "unsupported_parameter", param: "token" },
    ]);
    const out = await gateway.browser().post("/manage/auth/sign-out?disableRefresh=1");
    expect([out.status, out.body.error?.param]).toEqual([400, "disableRefresh"]);
    expect(await everyWay(link)).toEqual([400, 400, 200]);
  });

  test("PORTAL-11 of a former or disabled operator is invalid", async () => {
    const helper = await gateway.join("operates@example.eu");
    const helping = await idOf("operates@example.eu");
    const run = (operator: boolean) => gateway.manage("POST", `/people/${helping}/operator`, { operator });
    const disable = (disabled: boolean) => gateway.manage("POST", `/people/${helping}/disable`, { disabled });
    const lost = async (email: string) => {
      await gateway.join(email);
      return `/people/${await idOf(email)}/reset-link`;
    };
    await run(true);
    const { link } = (await helper.post(`/manage${await lost("locked-out@example.eu")}`)).body;
    const ofToken = await gateway.manage("POST", await lost("shut-out@example.eu"));
    await run(false);
    expect(await everyWay(link)).toEqual(REFUSED);
    expect((await reset(ofToken.link)).status).toBe(200);
    await run(true);
    await disable(true);
    expect(await everyWay(link)).toEqual(REFUSED);
    await disable(false);
    expect((await reset(link)).status).toBe(200);
    expect(await everyWay(link)).toEqual(REFUSED);
  });

  test("PORTAL-11 cannot be created by an admin for a person who never accepted the membership", async () => {
    const admin = await gateway.join("writes@example.eu", "admin");
    expect((await admin.post(MEMBERS, { email: "written@example.eu" })).status).toBe(201);
    await gateway.join("written@example.eu", "member", "second");
    await owner.ask("DELETE", "/manage/workspaces/second/members/written@example.eu");
    const refused = await admin.post(`${MEMBERS}/written@example.eu/reset-link`);
    expect([refused.status, refused.body.error.code]).toEqual([404, "not_found"]);
    // Nor for a person whom the operator added.
    await gateway.join("seated@example.eu", "member", "second");
    await owner.post(MEMBERS, { email: "seated@example.eu" });
    await owner.ask("DELETE", "/manage/workspaces/second/members/seated@example.eu");
    const seated = await admin.post(`${MEMBERS}/seated@example.eu/reset-link`);
    expect([seated.status, seated.body.error.code]).toEqual([403, "not_allowed"]);
  });

  test("PORTAL-11 removes the passkeys, which an intruder may have added", async () => {
    const device = new Authenticator("localhost", gateway.url);
    await addPasskey(await gateway.join("recovers@example.eu"), device);
    const { link } = await gateway.manage("POST", "/workspaces/demo/members/recovers@example.eu/reset-link");
    expect((await reset(link)).status).toBe(200);
    expect((await byPasskey(gateway.browser(), device)).status).toBe(401);
  });

  /** A person with an enabled second factor. */
  const secured = async (email: string) => {
    const browser = await gateway.join(email);
    const { totpURI } = (await browser.post("/manage/auth/two-factor/enable", { password: PASSWORD })).body;
    const on = await browser.post("/manage/auth/two-factor/verify-totp", { code: totpOf(totpURI) });
    expect(on.status).toBe(200);
    return browser;
  };

  test("PORTAL-11 stays valid when the second factor is removed afterwards, as the guide says", async () => {
    const guide = readFileSync(path.join(PROJECT_ROOT, "docs/guides/people.md"), "utf8");
    const [, lines = ""] = /^## Password reset$.*?^```sh\n(.*?)^```/ms.exec(guide) ?? [];
    const email = "lost-both@example.eu";
    await secured(email);
    const output: string[] = [];
    for (const line of lines.trimEnd().split("\n")) {
      const [program, ...words] = line.replace("per_…", await idOf(email)).split(" ");
      expect(program).toBe("bin/gateway");
      const { code, stdout } = await gateway.cli(...words);
      expect(code, line).toBe(0);
      output.push(stdout);
    }
    const link = /https?:\/\/\S+reset-password\S+/.exec(output.join("\n"))?.[0] ?? "";
    expect((await reset(link)).status).toBe(200);
    expect((await signIn(gateway.browser(), email, newPassword)).body.user.email).toBe(email);
  });

  test("PORTAL-11 of an admin that has ended leaves the account unchanged and verified", async () => {
    const email = "proven@example.eu";
    const [admin, browser] = [await gateway.join("asking@example.eu", "admin"), await gateway.join(email)];
    const { link } = (await admin.post(`${MEMBERS}/${email}/reset-link`)).body;
    const changed = { currentPassword: PASSWORD, newPassword: "nine yellow bicycles" };
    expect((await browser.post("/manage/auth/change-password", changed)).status).toBe(200);
    expect((await reset(link)).status).toBe(400);
    const added = await gateway.call(gateway.adminToken, "/manage/workspaces/second/members", { body: { email } });
    expect(added.status).toBe(201);
  });

  test("PORTAL-11 is revoked by a new password and with the account, not with sessions", async () => {
    const made = async (email: string) =>
      (await gateway.manage("POST", `/people/${await idOf(email)}/reset-link`)).link;
    const email = "holds@example.eu";
    const browser = await gateway.join(email);
    const [first, second] = [await made(email), await made(email)];
    await browser.ask("DELETE", "/manage/me/sessions");
    await gateway.manage("DELETE", `/people/${await idOf(email)}/sessions`);
    expect((await reset(first)).status).toBe(200);
    expect((await reset(second)).status).toBe(400);

    const third = await made(email);
    await signIn(browser, email, newPassword);
    const changed = { currentPassword: newPassword, newPassword: "nine yellow bicycles" };
    expect((await browser.post("/manage/auth/change-password", changed)).status).toBe(200);
    expect((await reset(third)).status).toBe(400);

    const fourth = await made(email);
    const disable = async (disabled: boolean) =>
      gateway.manage("POST", `/people/${await idOf(email)}/disable`, { disabled });
    await disable(true);
    await disable(false);
    expect((await reset(fourth)).status).toBe(400);
  });
});

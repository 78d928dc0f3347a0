import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Mailbox, openMailbox } from "../support/alerts.ts";
import { openBooks } from "../support/books.ts";
import { type Browser, OWNER, PASSWORD, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

let gateway: PeopleGateway;
let mailbox: Mailbox;
let owner: Browser;

beforeAll(async () => {
  mailbox = await openMailbox();
  gateway = await peopleGateway({
    env: { GATEWAY_SMTP_URL: mailbox.url, GATEWAY_MAIL_FROM: "gateway@example.eu", GATEWAY_SIGNUP: "open" },
  });
  owner = await gateway.setUp();
});
afterAll(async () => {
  await gateway.close();
  await mailbox.close();
});

const ACCOUNT = { name: "Grace", password: PASSWORD };
const signIn = (browser: Browser, email: string, password = PASSWORD) =>
  browser.post("/manage/auth/sign-in/email", { email, password });

/** The link to a page in the last mail to an address. */
async function mailed(to: string, page: string): Promise<string> {
  const find = () =>
    mailbox.mails
      .filter((mail) => mail.to.includes(to))
      .map(({ text }) => text.replace(/=\r?\n/g, "").replace(/=3D/g, "="))
      .findLast((plain) => plain.includes(page));
  await expect.poll(find).toBeDefined();
  const text = find() ?? "";
  return /https?:\S+token=\S+/.exec(text)?.[0] ?? "";
}

describe("an invitation", () => {
  test("PORTAL-01 creates an account and a membership once; it is mailed and its link shown once", async () => {
    const made = await owner.post("/manage/workspaces/demo/invitations", { email: "Grace@example.eu", role: "admin" });
    expect([made.status, made.body.mailed]).toEqual([201, true]);
    expect(await mailed("grace@example.eu", "/app/invite")).toBe(made.body.link);
    const token = tokenOf(made.body.link);
    const browser = gateway.browser();
    const shown = await browser.get(`/manage/invitations/${token}`);
    expect(shown.body).toMatchObject({
      workspace: { slug: "demo", name: "Demo" },
      role: "admin",
      email: "grace@example.eu",
      account_exists: false,
    });
    expect((await browser.post(`/manage/invitations/${token}/accept`)).body.error.param).toBe("name");
    const accepted = await browser.post(`/manage/invitations/${token}/accept`, ACCOUNT);
    expect([accepted.status, accepted.body]).toEqual([200, { workspace: "demo", role: "admin" }]);
    expect((await browser.get("/manage/me")).body.workspaces).toMatchObject([{ slug: "demo", role: "admin" }]);
    const again = await gateway.browser().post(`/manage/invitations/${token}/accept`, ACCOUNT);
    expect(again.status).toBe(404);
    const { data } = (await owner.get("/manage/workspaces/demo/invitations")).body;
    expect(data[0]).toMatchObject({ email: "grace@example.eu", state: "accepted", invited_by: OWNER.email });
    expect(JSON.stringify(data)).not.toContain(token);
    const twice = await owner.post("/manage/workspaces/demo/invitations", { email: "grace@example.eu" });
    expect(twice.status).toBe(409);
  });

  test("PORTAL-01 for an existing account is accepted only when signed in with that address", async () => {
    await gateway.manage("POST", "/workspaces", { slug: "second" });
    const known = await gateway.join("known@example.eu");
    const stranger = await gateway.join("stranger@example.eu");
    const { link } = await gateway.manage("POST", "/workspaces/second/invitations", { email: "known@example.eu" });
    const accept = `/manage/invitations/${tokenOf(link)}/accept`;
    expect((await gateway.browser().get(`/manage/invitations/${tokenOf(link)}`)).body.account_exists).toBe(true);
    expect((await gateway.browser().post(accept, ACCOUNT)).body.error.code).toBe("not_signed_in");
    expect((await stranger.post(accept)).body.error.code).toBe("not_allowed");
    expect((await known.post(accept)).status).toBe(200);
    const { workspaces } = (await known.get("/manage/me")).body;
    expect(workspaces.map(({ slug }: { slug: string }) => slug).toSorted()).toEqual(["demo", "second"]);
  });

  test("PORTAL-01 also for a member whom the operator added before: it only creates the account", async () => {
    await gateway.manage("POST", "/workspaces/demo/members", { email: "before@example.eu", role: "admin" });
    const browser = await gateway.join("before@example.eu", "member");
    expect((await browser.get("/manage/me")).body.workspaces).toMatchObject([{ slug: "demo", role: "admin" }]);
  });

  test("PORTAL-11 that was revoked, replaced or expired is invalid", async () => {
    const invite = async () =>
      (await owner.post("/manage/workspaces/demo/invitations", { email: "late@example.eu" })).body;
    const [replaced, revoked] = [await invite(), await invite()];
    expect((await owner.ask("DELETE", `/manage/workspaces/demo/invitations/${revoked.id}`)).body.revoked).toBe(true);
    expect((await owner.ask("DELETE", `/manage/workspaces/demo/invitations/${revoked.id}`)).status).toBe(409);
    expect((await owner.ask("DELETE", "/manage/workspaces/second/invitations/lnk_x")).status).toBe(404);
    const old = await invite();
    const db = openBooks(gateway.dataDir);
    db.prepare("update people_links set expires_at_ms = 1 where id = ?").run(old.id);
    db.close();
    for (const { link } of [replaced, revoked, old]) {
      const at = `/manage/invitations/${tokenOf(link)}`;
      expect((await gateway.browser().get(at)).status).toBe(404);
      expect((await gateway.browser().post(`${at}/accept`, ACCOUNT)).status).toBe(404);
    }
    expect((await signIn(gateway.browser(), "late@example.eu")).status).toBe(401);
  });

  test("PORTAL-11 is created by admins, at most for their own role and only in their workspace", async () => {
    const admin = await gateway.join("admin@example.eu", "admin");
    const member = await gateway.join("member@example.eu", "member");
    const path = "/manage/workspaces/demo/invitations";
    expect((await member.post(path, { email: "x@example.eu" })).body.error.code).toBe("insufficient_role");
    expect((await member.get(path)).status).toBe(403);
    expect((await admin.post(path, { email: "x@example.eu", role: "owner" })).body.error.code).toBe(
      "insufficient_role",
    );
    expect((await admin.post(path, { email: "x@example.eu", role: "member" })).status).toBe(201);
    expect((await admin.post("/manage/workspaces/second/invitations", { email: "x@example.eu" })).status).toBe(404);
  });

  test("PORTAL-01 the last owner of a workspace cannot leave", async () => {
    const gone = await owner.ask("DELETE", `/manage/workspaces/demo/members/${OWNER.email}`);
    expect([gone.status, gone.body.error.code]).toEqual([409, "conflict"]);
  });
});

describe("a new password", () => {
  test("PORTAL-01 is set by a mailed link, once; the response is the same for an unknown address", async () => {
    await gateway.join("mail@example.eu");
    const browser = gateway.browser();
    const known = await browser.post("/manage/auth/request-password-reset", { email: "mail@example.eu" });
    const unknown = await browser.post("/manage/auth/request-password-reset", { email: "absent@example.eu" });
    expect([known.status, known.body]).toEqual([unknown.status, unknown.body]);
    const link = await mailed("mail@example.eu", "/app/reset-password");
    expect(link).toContain("/app/reset-password?token=");
    const body = { token: tokenOf(link), newPassword: "six green bicycles" };
    const weak = await browser.post("/manage/auth/reset-password", { ...body, newPassword: "passwordpassword" });
    expect(weak.body.error.param).toBe("newPassword");
    expect((await browser.post("/manage/auth/reset-password", body)).status).toBe(200);
    expect((await browser.post("/manage/auth/reset-password", body)).status).toBe(400);
    expect((await signIn(browser, "mail@example.eu", "six green bicycles")).status).toBe(200);
    expect(mailbox.mails.some((mail) => mail.to.includes("absent@example.eu"))).toBe(false);
  });

  test("PORTAL-11 an admin creates the link only for members of no other workspace", async () => {
    const admin = await gateway.join("helper@example.eu", "admin");
    await gateway.join("alone@example.eu");
    const link = (email: string) => admin.post(`/manage/workspaces/demo/members/${email}/reset-link`);
    expect((await link("alone@example.eu")).status).toBe(201);
    expect((await link("known@example.eu")).body.error.code).toBe("not_allowed");
    expect((await link(OWNER.email)).body.error.code).toBe("insufficient_role");
    expect((await link("absent@example.eu")).status).toBe(404);
  });
});

describe("open sign-up", () => {
  test("PORTAL-01 verifies the address by mail before it creates an account", async () => {
    const browser = gateway.browser();
    expect((await browser.get("/manage/me")).body.sign_in.signup).toBe("open");
    const unknown = await browser.post("/manage/sign-up", { email: "New@example.eu" });
    const known = await browser.post("/manage/sign-up", { email: OWNER.email });
    expect([unknown.status, unknown.body]).toEqual([known.status, known.body]);
    const link = await mailed("new@example.eu", "/app/sign-up");
    expect(link).toContain("/app/sign-up?token=");
    const token = tokenOf(link);
    expect((await signIn(browser, "new@example.eu")).status).toBe(401);
    expect((await browser.get(`/manage/sign-up?token=${token}`)).body).toEqual({ good: true, email: "new@example.eu" });
    const done = await browser.post("/manage/sign-up/finish", { token, ...ACCOUNT });
    expect([done.status, done.body]).toEqual([201, { email: "new@example.eu", name: "Grace" }]);
    const me = (await browser.get("/manage/me")).body;
    expect([me.person.email, me.workspaces, me.may_create_workspace]).toEqual(["new@example.eu", [], true]);
    expect((await gateway.browser().post("/manage/sign-up/finish", { token, ...ACCOUNT })).status).toBe(404);
  });

  test("PORTAL-11 is closed when accounts are created by invitation", async () => {
    const closed = await peopleGateway();
    const refused = await closed.browser().post("/manage/sign-up", { email: "new@example.eu" });
    expect([refused.status, refused.body.error.code]).toEqual([403, "not_allowed"]);
    await closed.close();
  });
});

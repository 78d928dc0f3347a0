import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OWNER, type PeopleGateway, peopleGateway, tokenOf } from "../support/people.ts";

let gateway: PeopleGateway;
beforeAll(async () => {
  gateway = await peopleGateway();
});
afterAll(() => gateway.close());

describe("the first person", () => {
  test("PORTAL-01 the set-up link makes the first person, once: operator, owner of demo, signed in at once", async () => {
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

  test("PORTAL-01 a password signs in, its session manages, and sign-out ends it", async () => {
    const browser = gateway.browser();
    const signedIn = await browser.post("/manage/auth/sign-in/email", {
      email: "Ada@Example.EU",
      password: OWNER.password,
    });
    expect([signedIn.status, signedIn.body.user?.email]).toEqual([200, OWNER.email]);
    expect((await browser.get("/manage/workspaces")).status).toBe(200);
    const cookies = new Map(browser.cookies);
    expect((await browser.post("/manage/auth/sign-out")).status).toBe(200);
    expect((await browser.get("/manage/me")).body.person).toBeNull();
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    expect((await browser.get("/manage/workspaces")).status).toBe(401);
  });
});

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { TestGateway } from "../support/gateway.ts";
import { type IdentityProvider, proven, startIdentityProvider } from "../support/oidc.ts";
import { Browser, PASSWORD, tokenOf } from "../support/people.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { unusedPort } from "../support/upstream.ts";

describe.skipIf(!hasPostgres || !hasRedis)("single sign-on while Redis is unavailable", () => {
  let fleet: TestFleet;
  let provider: IdentityProvider;
  let gateway: TestGateway;
  beforeAll(async () => {
    const publicUrl = `http://127.0.0.1:${await unusedPort()}`;
    [fleet, provider] = await Promise.all([startFleet(), startIdentityProvider(publicUrl, proven("proven", "taken"))]);
    gateway = await fleet.add(provider.env);
  }, 60_000);
  afterAll(async () => {
    await fleet?.close();
    await provider?.close();
  });

  async function accept(link: string): Promise<Browser> {
    const browser = new Browser(gateway.url);
    const account = { name: "Someone", password: PASSWORD };
    expect((await browser.post(`/manage/invitations/${tokenOf(link)}/accept`, account)).status).toBe(200);
    return browser;
  }

  async function through(sub: string) {
    const browser = new Browser(gateway.url);
    const body = { provider: "oidc", callbackURL: "/app", errorCallbackURL: "/app/sign-in" };
    const { url } = (await browser.post("/manage/auth/sign-in/social", body)).body;
    const back = new URL(await provider.signIn(url, sub));
    const { status, headers } = await browser.get(`${back.pathname}${back.search}`);
    const { person } = (await browser.get("/manage/me")).body;
    return { status, to: headers.get("location"), email: person?.email };
  }

  test("PORTAL-01 SCALE-03 signs in a verified person; one who needs a reset must retry later", async () => {
    const invite = { email: "proven@example.eu" };
    await accept((await gateway.manage("POST", "/workspaces/demo/invitations", invite)).link);
    const admin = { email: "admin@example.eu", role: "admin" };
    const mallory = await accept((await gateway.manage("POST", "/workspaces/demo/invitations", admin)).link);
    const { body } = await mallory.post("/manage/workspaces/demo/invitations", { email: "taken@example.eu" });
    const squatter = await accept(body.link);
    const proven = { status: 302, to: "/app", email: "proven@example.eu" };
    expect(await through("proven")).toEqual(proven);

    await fleet.redis.kill();
    expect(await through("proven")).toEqual(proven);
    const again = expect.stringContaining("/app/sign-in?error=service_unavailable");
    expect(await through("taken")).toEqual({ status: 302, to: again, email: undefined });

    await fleet.redis.start();
    await expect
      .poll(() => through("taken"), { timeout: 30_000 })
      .toEqual({ status: 302, to: "/app", email: "taken@example.eu" });
    expect((await squatter.get("/manage/me")).body.person).toBeNull();
  }, 90_000);
});

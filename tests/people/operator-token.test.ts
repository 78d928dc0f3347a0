import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { cleanUp, spawnGateway } from "../edge/child.ts";
import { PASSWORD, peopleGateway, tokenOf } from "../support/people.ts";

test("PORTAL-11 links made with the operator token are valid as long as the token", async () => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-test-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const started = (token: string) => peopleGateway({ dataDir, env: { GATEWAY_ADMIN_TOKEN: token.repeat(40) } });

  const first = await started("a");
  await first.setUp();
  const invite = async (email: string) => (await first.manage("POST", "/workspaces/demo/invitations", { email })).link;
  const resetLink = async (email: string) => {
    await first.join(email);
    return (await first.manage("POST", `/workspaces/demo/members/${email}/reset-link`)).link;
  };
  const [early, late] = [await invite("early@example.eu"), await invite("late@example.eu")];
  const [quick, slow] = [await resetLink("quick@example.eu"), await resetLink("slow@example.eu")];
  await first.close();

  const listed = async (gateway: typeof first) => {
    const { data } = await gateway.manage("GET", "/workspaces/demo/invitations");
    return data
      .filter(({ email }: { email: string }) => ["early@example.eu", "late@example.eu"].includes(email))
      .map(({ invited_by, state }: { invited_by: string; state: string }) => [invited_by, state]);
  };
  const used = async (gateway: typeof first, invitation: string, reset: string) => {
    const account = { name: "Eve", password: PASSWORD };
    const accepted = await gateway.browser().post(`/manage/invitations/${tokenOf(invitation)}/accept`, account);
    const newPassword = "eight green bicycles";
    const set = await gateway.browser().post("/manage/auth/reset-password", { token: tokenOf(reset), newPassword });
    return [accepted.status, set.status];
  };

  const same = await started("a");
  expect(await used(same, early, quick)).toEqual([200, 200]);
  expect(await listed(same)).toEqual([
    ["operator", "open"],
    ["operator", "accepted"],
  ]);
  await same.close();

  const replaced = await started("b");
  expect(await used(replaced, late, slow)).toEqual([404, 400]);
  expect(await listed(replaced)).toEqual([
    ["operator", "revoked"],
    ["operator", "accepted"],
  ]);
  await replaced.close();
});

test("SAFE-02 wrong operator tokens are throttled by address, and reported as metric and log line", async () => {
  onTestFinished(cleanUp);
  const right = "the-operator-token-of-this-test-0000";
  const gateway = spawnGateway({
    GATEWAY_ADMIN_TOKEN_TRIES: "3",
    GATEWAY_TRUSTED_PROXIES: "127.0.0.1",
    GATEWAY_ADMIN_TOKEN: right,
  });
  const origin = await gateway.ready();
  const ask = (address: string, where: string, token: string, init: RequestInit = {}) => {
    const headers = {
      authorization: `Bearer ${token}`,
      "x-forwarded-for": address,
      "content-type": "application/json",
    };
    return fetch(`${origin}${where}`, { ...init, headers });
  };
  const statusOf = async (...request: Parameters<typeof ask>) => (await ask(...request)).status;
  const attacker = "203.0.113.66";
  for (const where of ["/manage/workspaces", "/metrics", "/v1/public/models?workspace=demo"])
    expect([where, await statusOf(attacker, where, "wrong")]).toEqual([where, 401]);
  const refused = await ask(attacker, "/manage/workspaces", "wrong");
  expect(await refused.json()).toMatchObject({ error: { code: "rate_limit_exceeded" } });
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  expect(await statusOf(attacker, "/manage/workspaces", right)).toBe(429);
  expect(await statusOf("203.0.113.67", "/manage/workspaces", right)).toBe(200);
  // Management tokens and API keys of the address are not affected.
  const body = JSON.stringify({ name: "ci", access: "read" });
  const made = await ask("203.0.113.67", "/manage/workspaces/demo/tokens", right, { method: "POST", body });
  const { token } = z.object({ token: z.string() }).parse(await made.json());
  expect(await statusOf(attacker, "/manage/workspaces/demo", token)).toBe(200);
  expect(await statusOf(attacker, "/v1/models", /sk_svc_\S+/.exec(gateway.stdout())?.[0] ?? "")).toBe(200);
  const metrics = await (await fetch(`${origin}/metrics`)).text();
  expect(metrics).toContain('gateway_operator_token_rejections_total{why="wrong"} 3');
  expect(metrics).toContain('gateway_operator_token_rejections_total{why="throttled"} 2');
  const logged = gateway
    .stderr()
    .split("\n")
    .filter((line) => line.includes("operator-token: address throttled"));
  expect(logged).toEqual([expect.stringContaining(attacker)]);
  expect(gateway.stderr()).not.toContain(right);
  expect(await gateway.stop()).toBe(0);
});

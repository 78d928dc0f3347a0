import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { chatBody, connectedTo } from "../support/scene.ts";
import { chatJson, type Script, startUpstream, type Upstream } from "../support/upstream.ts";

const FAILING: Script = { status: 500, json: { error: { message: "broken" } } };

describe.skipIf(!hasPostgres || !hasRedis)("endpoint state shared by instances", () => {
  let fleet: TestFleet;
  let cheap: Upstream;
  let dear: Upstream;
  let a: TestGateway;
  let b: TestGateway;
  const env = () => ({
    ...connectedTo(new Map([["deepinfra", cheap] as const, ["ovhcloud", dear] as const])),
    GATEWAY_ASIDE_FAILURES: "3",
    GATEWAY_ASIDE_MS: "600000",
  });

  beforeAll(async () => {
    [fleet, cheap, dear] = await Promise.all([startFleet(), startUpstream(), startUpstream()]);
    a = await fleet.add(env());
    b = await fleet.add(env());
  }, 60_000);
  afterAll(async () => {
    await fleet?.close();
    await Promise.all([cheap?.close(), dear?.close()]);
  });

  const ask = async (gateway: TestGateway, key: string) =>
    (await gateway.call(key, "/v1/chat/completions", { body: chatBody() })).headers.get("x-svc-provider");
  /** The row of the cheap endpoint. */
  const rowOf = async (gateway: TestGateway): Promise<Json> => {
    const [row] = (await gateway.manage("GET", "/endpoints?provider=deepinfra&model=openai/gpt-oss-120b")).data;
    return row;
  };
  const stateAt = (gateway: TestGateway, state: string) =>
    eventually(async () => expect((await rowOf(gateway)).state).toBe(state), { timeout: 10_000, interval: 50 });

  test("SCALE-02 ROUTE-05 an endpoint that fails one instance is avoided by the other until it serves again", async () => {
    const { key } = await a.tenant();
    for (let at = 0; at < 3; at += 1) {
      cheap.next(FAILING);
      expect(await ask(a, key)).toBe("ovhcloud");
    }
    const before = cheap.requests.length;
    await stateAt(b, "aside");
    expect([await ask(b, key), await ask(b, key)]).toEqual(["ovhcloud", "ovhcloud"]);
    expect(cheap.requests).toHaveLength(before);
    const [here, there] = [await rowOf(a), await rowOf(b)];
    expect([there.failed, there.times_aside]).toEqual([0, 0]);
    // The same time by two clocks, each rounded.
    expect(Math.abs(Date.parse(there.aside_until) - Date.parse(here.aside_until))).toBeLessThan(1000);
    // A newly started instance knows it immediately.
    const c = await fleet.add(env());
    expect([(await rowOf(c)).state, await ask(c, key)]).toEqual(["aside", "ovhcloud"]);
    // It is tried last, and serves.
    dear.next(FAILING);
    expect(await ask(a, key)).toBe("deepinfra");
    await Promise.all([b, c].map((gateway) => stateAt(gateway, "in")));
    expect([await ask(b, key), await ask(c, key)]).toEqual(["deepinfra", "deepinfra"]);
  }, 60_000);

  test("SCALE-02 ROUTE-02 all plan by the same latency, also after a start; it contains nothing of a workspace", async () => {
    const { key, slug, keyId } = await a.tenant();
    cheap.next({ beforeHeadersMs: 400, json: chatJson() });
    expect(await ask(a, key)).toBe("deepinfra");
    await eventually(
      async () => {
        const [here, there] = await Promise.all([rowOf(a), rowOf(b)]);
        expect(here.expected).toEqual(there.expected);
        expect(here.expected.first_byte_ms).toBeGreaterThan(10);
      },
      { timeout: 10_000, interval: 50 },
    );
    const c = await fleet.add(env());
    const late = await rowOf(c);
    expect([late.expected, late.answers]).toEqual([(await rowOf(a)).expected, 0]);
    const names: Json = await fleet.redis.ask("KEYS", "*note:speed:*");
    expect(names.length).toBeGreaterThan(1);
    for (const name of names) {
      const text = String(await fleet.redis.ask("GET", name));
      for (const own of [key, slug, keyId]) expect(text).not.toContain(own);
    }
  }, 60_000);
});

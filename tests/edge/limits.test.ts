import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { type Called, startGateway, type TestGateway } from "../support/gateway.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { CHAT, expectRefusal, HELLO, SCALEWAY_MODEL } from "./wire.ts";

const MODELS = "/v1/models/sandbox/chat";
const VALIDATE = "/v1/auth/validate";
const RATE_HEADERS = ["x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"] as const;

let gateway: TestGateway;
let upstream: Upstream;

beforeAll(async () => {
  upstream = await startUpstream();
  gateway = await startGateway({
    env: { GATEWAY_RPM_IP: "0", PROVIDER_SCALEWAY_API_KEY: "k", PROVIDER_SCALEWAY_BASE_URL: upstream.baseUrl },
  });
});
afterAll(async () => {
  await gateway.close();
  await upstream.close();
});
afterEach(() => {
  vi.useRealTimers();
});

type IssuedKey = { readonly key: string; readonly id: string };

function issue(body: Record<string, unknown> = {}): Promise<IssuedKey> {
  return gateway.manage("POST", "/workspaces/demo/keys", { name: "k", ...body });
}

/** The three headers as numbers; undefined if none was sent, and a failure if only some were. */
function rateOf({ headers }: Called): { limit: number; remaining: number; reset: number } | undefined {
  const values = RATE_HEADERS.map((name) => headers.get(name));
  if (values.every((value) => value === null)) return undefined;
  for (const value of values) expect(value).toMatch(/^\d+$/);
  const [limit = 0, remaining = 0, reset = 0] = values.map(Number);
  return { limit, remaining, reset };
}

/** Only the gateway's clocks are frozen; its timers and sockets are real. */
function holdClocks(): (ms: number) => void {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 1_800_000_000_000 });
  return (ms) => vi.advanceTimersByTime(ms);
}

describe("the rate limit window of a key", () => {
  test("RATE-01 RATE-02 RATE-03 three per minute means three in any 60 seconds, to the millisecond", async () => {
    const pass = holdClocks();
    const startSeconds = 1_800_000_000;
    const { key } = await issue({ rpm: 3 });
    const at = async () => {
      const answer = await gateway.call(key, MODELS);
      return { status: answer.status, ...rateOf(answer), retryAfter: answer.headers.get("retry-after") };
    };
    const ok = { status: 200, limit: 3, retryAfter: null };
    const over = { status: 429, limit: 3, remaining: 0 };
    expect(await at()).toEqual({ ...ok, remaining: 2, reset: startSeconds + 60 });
    pass(20_000);
    expect(await at()).toEqual({ ...ok, remaining: 1, reset: startSeconds + 60 });
    pass(20_000);
    expect(await at()).toEqual({ ...ok, remaining: 0, reset: startSeconds + 60 });
    expect(await at()).toEqual({ ...over, reset: startSeconds + 60, retryAfter: "20" });
    pass(19_999);
    expect(await at()).toEqual({ ...over, reset: startSeconds + 60, retryAfter: "1" });
    pass(1);
    expect(await at()).toEqual({ ...ok, remaining: 0, reset: startSeconds + 80 });
    expect(await at()).toEqual({ ...over, reset: startSeconds + 80, retryAfter: "20" });
    pass(60_000);
    expect(await at()).toEqual({ ...ok, remaining: 2, reset: startSeconds + 180 });
  });

  test("RATE-02 over the limit: the envelope, with the wait in the message and the headers", async () => {
    const { key } = await issue({ rpm: 1 });
    expect((await gateway.call(key, CHAT, { body: HELLO })).status).toBe(200);
    for (const [path, init] of [
      [CHAT, { body: HELLO }],
      [CHAT, { body: { ...HELLO, stream: true } }],
      [MODELS, {}],
    ] as const) {
      const answer = await gateway.call(key, path, init);
      const error = expectRefusal(answer, 429, "rate_limit_exceeded");
      expect(error["type"]).toBe("rate_limit_error");
      const wait = Number(answer.headers.get("retry-after"));
      expect(wait).toBeGreaterThanOrEqual(1);
      expect(wait).toBeLessThanOrEqual(60);
      expect(error["message"]).toContain(`${wait} s`);
      expect(rateOf(answer)).toMatchObject({ limit: 1, remaining: 0 });
    }
  });

  test("RATE-03 every authenticated success has the three headers, streams and validation included", async () => {
    const { key } = await issue({ rpm: 50 });
    const remaining: (number | undefined)[] = [];
    for (const [path, init] of [
      [CHAT, { body: HELLO }],
      [CHAT, { body: { ...HELLO, stream: true } }],
      ["/v1/models", {}],
      [MODELS, {}],
      [VALIDATE, {}],
      [VALIDATE, {}],
    ] as const) {
      const answer = await gateway.call(key, path, init);
      expect(answer.status).toBe(200);
      const rate = rateOf(answer);
      expect(rate?.limit).toBe(50);
      expect(Math.abs((rate?.reset ?? 0) - Date.now() / 1000)).toBeLessThan(62);
      remaining.push(rate?.remaining);
    }
    expect(remaining).toEqual([49, 48, 47, 46, 46, 46]);
  });

  test("RATE-03 refused calls count: a bad body, an unknown model, a missing scope; validation does not", async () => {
    const { key } = await issue({ rpm: 6, scopes: ["inference:chat"] });
    expectRefusal(await gateway.call(key, CHAT, { body: "{" }), 400, "invalid_json");
    expectRefusal(await gateway.call(key, CHAT, { body: { ...HELLO, bogus: 1 } }), 400, "unsupported_parameter");
    expectRefusal(await gateway.call(key, CHAT, { body: { ...HELLO, model: "no/such" } }), 404, "model_not_found");
    expectRefusal(await gateway.call(key, MODELS), 403, "insufficient_scope");
    for (let call = 0; call < 10; call += 1) expect((await gateway.call(key, VALIDATE)).status).toBe(200);
    expect(rateOf(await gateway.call(key, CHAT, { body: HELLO }))?.remaining).toBe(1);
  });

  test("RATE-03 rate-limited calls are not counted, and validation is still answered", async () => {
    const { key, id } = await issue({ rpm: 3 });
    for (let call = 0; call < 3; call += 1) expect((await gateway.call(key, MODELS)).status).toBe(200);
    for (let call = 0; call < 7; call += 1) expectRefusal(await gateway.call(key, MODELS), 429, "rate_limit_exceeded");
    const validated = await gateway.call(key, VALIDATE);
    expect(validated.status).toBe(200);
    expect(rateOf(validated)).toMatchObject({ limit: 3, remaining: 0 });
    // If the seven refused calls counted, a limit of five would be exhausted.
    await gateway.manage("PATCH", `/keys/${id}`, { rpm: 5 });
    expect(rateOf(await gateway.call(key, MODELS))).toMatchObject({ limit: 5, remaining: 1 });
    expect((await gateway.call(key, MODELS)).status).toBe(200);
    expect((await gateway.call(key, MODELS)).status).toBe(429);
  });

  test("RATE-01 of a hundred calls at once on a limit of ten, ten pass", async () => {
    const { key } = await issue({ rpm: 10 });
    const answers = await Promise.all(Array.from({ length: 100 }, () => gateway.call(key, MODELS)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 429)).toHaveLength(90);
    const left = answers.filter(({ status }) => status === 200).map((answer) => rateOf(answer)?.remaining ?? -1);
    expect(left.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
  });

  test.each([
    ["live", 300],
    ["test", 30],
  ])("RATE-01 a %s key has %i per minute", async (environment, limit) => {
    const { key } = await issue({ environment });
    const statuses: number[] = [];
    for (let sent = 0; sent < limit; sent += 30) {
      const batch = await Promise.all(Array.from({ length: 30 }, () => gateway.call(key, MODELS)));
      statuses.push(...batch.map(({ status }) => status));
    }
    expect(new Set(statuses)).toEqual(new Set([200]));
    const over = await gateway.call(key, MODELS);
    expectRefusal(over, 429, "rate_limit_exceeded");
    expect(rateOf(over)).toMatchObject({ limit, remaining: 0 });
  });

  test("RATE-01 an override replaces the default, larger or smaller, and its removal restores the default", async () => {
    const { key, id } = await issue({ environment: "test", rpm: 400 });
    expect(rateOf(await gateway.call(key, MODELS))?.limit).toBe(400);
    for (const [rpm, limit] of [
      [7, 7],
      [null, 30],
    ]) {
      await gateway.manage("PATCH", `/keys/${id}`, { rpm });
      expect(rateOf(await gateway.call(key, MODELS))?.limit).toBe(limit);
    }
  });

  test("RATE-01 keys do not share a window, and a rotated key starts its own", async () => {
    const first = await issue({ rpm: 1 });
    const second = await issue({ rpm: 1 });
    expect((await gateway.call(first.key, MODELS)).status).toBe(200);
    expect((await gateway.call(first.key, MODELS)).status).toBe(429);
    expect((await gateway.call(second.key, MODELS)).status).toBe(200);
    const rotated: IssuedKey = await gateway.manage("POST", `/keys/${first.id}/rotate`, {});
    expect((await gateway.call(rotated.key, MODELS)).status).toBe(200);
    expect((await gateway.call(rotated.key, MODELS)).status).toBe(429);
  });
});

describe("other 429s", () => {
  test("RATE-04 RATE-07 a provider's 429 has its Retry-After and none of the key's headers", async () => {
    const { key } = await issue({ rpm: 100 });
    const body = { ...HELLO, model: SCALEWAY_MODEL };
    for (const stream of [false, true]) {
      upstream.next({ status: 429, headers: { "Retry-After": "17" }, json: { error: { message: "slow down" } } });
      const answer = await gateway.call(key, CHAT, { body: { ...body, stream } });
      expectRefusal(answer, 429, "rate_limit_exceeded");
      expect(answer.headers.get("retry-after")).toBe("17");
      expect(rateOf(answer)).toBeUndefined();
    }
  });
});

describe("the rate limit of an IP address", () => {
  const RPM_IP = 5;
  let limited: TestGateway;
  let callers = 0;

  beforeAll(async () => {
    limited = await startGateway({
      env: { GATEWAY_RPM_IP: String(RPM_IP), GATEWAY_TRUSTED_PROXIES: "127.0.0.1" },
    });
  });
  afterAll(() => limited.close());

  const from = (address: string, path: string, key = "", init = {}) =>
    limited.call(key, path, { headers: { "x-forwarded-for": address }, ...init });
  const newAddress = () => {
    callers += 1;
    return `203.0.113.${callers}`;
  };

  async function exhaust(address: string): Promise<void> {
    for (let call = 0; call < RPM_IP; call += 1)
      expect((await from(address, "/v1/public/currencies")).status).toBe(200);
  }

  test("RATE-05 RATE-04 public calls count, and a 429 over the limit has no X-RateLimit headers", async () => {
    const address = newAddress();
    await exhaust(address);
    const answer = await from(address, "/v1/public/currencies");
    const error = expectRefusal(answer, 429, "rate_limit_exceeded");
    const wait = Number(answer.headers.get("retry-after"));
    expect(wait).toBeGreaterThanOrEqual(1);
    expect(wait).toBeLessThanOrEqual(60);
    expect(error["message"]).toContain(`${wait} s`);
    expect(rateOf(answer)).toBeUndefined();
  });

  test("RATE-05 it covers every route: with a key, with an invalid one, without, operations and documents", async () => {
    const address = newAddress();
    await exhaust(address);
    for (const [path, key] of [
      ["/v1/models", limited.key],
      ["/v1/models", "sk_svc_live_nobody"],
      ["/v1/models", ""],
      ["/manage/workspaces", limited.adminToken],
      ["/docs/api/spec", ""],
      ["/", ""],
    ] as const) {
      const answer = await from(address, path, key);
      expectRefusal(answer, 429, "rate_limit_exceeded");
      expect(rateOf(answer)).toBeUndefined();
    }
  });

  test("RATE-05 OPS-01 a load balancer's health checks are answered regardless of other traffic from its address", async () => {
    const address = newAddress();
    await exhaust(address);
    for (const path of ["/healthz", "/readyz"]) expect((await from(address, path)).status).toBe(200);
    expectRefusal(await from(address, "/metrics"), 429, "rate_limit_exceeded");
  });

  test("RATE-05 OPS-01 a load balancer's health checks do not use its address's limit", async () => {
    const address = newAddress();
    for (let call = 0; call <= RPM_IP; call += 1)
      expect((await from(address, call % 2 === 0 ? "/healthz" : "/readyz")).status).toBe(200);
    expect((await from(address, "/llms.txt")).status).toBe(200);
  });

  test("RATE-05 unauthenticated and unknown calls count too", async () => {
    const address = newAddress();
    for (let call = 0; call < RPM_IP; call += 1)
      expect([401, 404]).toContain((await from(address, call % 2 === 0 ? "/v1/models" : "/nowhere")).status);
    expectRefusal(await from(address, "/v1/models"), 429, "rate_limit_exceeded");
  });

  test("RATE-05 another address is not affected; one IPv6 customer is one /64", async () => {
    await exhaust("2001:db8:1:1::1");
    expect((await from("2001:db8:1:1:ffff::2", "/llms.txt")).status).toBe(429);
    expect((await from("2001:db8:1:2::1", "/llms.txt")).status).toBe(200);
    expect((await from(newAddress(), "/llms.txt")).status).toBe(200);
  });

  test("RATE-05 a minute later requests are accepted again", async () => {
    const pass = holdClocks();
    const address = newAddress();
    await exhaust(address);
    expect((await from(address, "/llms.txt")).status).toBe(429);
    // The previous minute counts by its overlap with the last 60 seconds: half.
    pass(90_000);
    const statuses: number[] = [];
    for (let call = 0; call < 4; call += 1) statuses.push((await from(address, "/llms.txt")).status);
    expect(statuses).toEqual([200, 200, 200, 429]);
    pass(120_000);
    expect((await from(address, "/llms.txt")).status).toBe(200);
  });

  test("RATE-05 the default is 1200 per minute, and 0 turns it off", async () => {
    const { SETTINGS } = await import("../../src/settings/config.ts");
    expect(SETTINGS.GATEWAY_RPM_IP.fallback).toBe(1200);
    // The other gateway of this file has 0 and has served this address throughout.
    const answers = await Promise.all(Array.from({ length: 100 }, () => gateway.call("", "/llms.txt")));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

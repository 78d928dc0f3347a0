import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { chatBody, openScene, type Scene, startChat } from "../support/scene.ts";
import { type Script, unusedPort } from "../support/upstream.ts";

/** One endpoint: there is no failover. */
let scene: Scene;
let tenant: Tenant;

beforeAll(async () => {
  scene = await openScene(["deepinfra"]);
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

const busy = (status: number, retryAfter?: string): Script => ({
  status,
  json: { error: { message: "busy" } },
  ...(retryAfter === undefined ? {} : { headers: { "retry-after": retryAfter } }),
});
const outcomes = (row: Json): string[] => row.attempts.map(({ outcome }: Json) => outcome);

/** A request and the number of upstream calls for it. */
async function send(body: Record<string, unknown> = {}) {
  const before = scene.at("deepinfra").requests.length;
  const answer = await scene.chat(tenant.key, body);
  const [row] = await scene.rows(tenant);
  return { ...answer, row, times: scene.at("deepinfra").requests.length - before };
}

describe("retrying the same endpoint", () => {
  test.each([429, 503, 529])(
    "ROUTE-04 %i with a short Retry-After is retried once when it is the only endpoint, and logged as a retry",
    async (status) => {
      for (const stream of [false, true]) {
        scene.at("deepinfra").next(busy(status, "0"));
        const answer = await send({ stream });
        expect([answer.status, answer.times]).toEqual([200, 2]);
        expect(answer.row.attempts).toMatchObject([
          { outcome: "retry", upstream_status: status, maybe_accepted: false },
          { outcome: "served" },
        ]);
        expect(answer.headers.get("x-svc-route-reason")).toContain("after 1 failed attempt");
      }
      expect(await scene.charges(tenant)).toHaveLength(2);
    },
  );

  test("ROUTE-04 waits as long as the provider's Retry-After says", async () => {
    scene.at("deepinfra").next(busy(429, "1"));
    const { status, row } = await send();
    expect(status).toBe(200);
    const [first, second] = row.attempts;
    expect(Date.parse(second.started_at) - Date.parse(first.started_at)).toBeGreaterThanOrEqual(990);
  });

  test.each<readonly [string, Script, number]>([
    ["a wait of 3 s", busy(429, "3"), 429],
    ["429 without a word of when", busy(429), 429],
    ["503 without a word of when", busy(503), 502],
    ["500", busy(500, "0"), 502],
    ["401", busy(401, "0"), 502],
    ["a connection reset after the request was sent", { end: { is: "cut", after: "before_headers", how: "rst" } }, 502],
    ["an answer that is none", { body: "<html>" }, 502],
  ])("ROUTE-04 %s: no retry", async (_, script, status) => {
    scene.at("deepinfra").next(script);
    const answer = await send();
    expect([answer.status, answer.times]).toEqual([status, 1]);
    expect(outcomes(answer.row)).toEqual(["next"]);
  });

  test("ROUTE-04 RATE-07 retries once only, then relays the provider's error", async () => {
    for (let at = 0; at < 2; at += 1) scene.at("deepinfra").next(busy(503, "1"));
    const { status, body, headers, row, times } = await send();
    expect([status, body.error.code, headers.get("retry-after"), times]).toEqual([502, "upstream_error", "1", 2]);
    expect(outcomes(row)).toEqual(["retry", "next"]);
  });

  test("ROUTE-04 stops retrying when the client disconnects during the wait", async () => {
    scene.at("deepinfra").next(busy(429, "2"));
    const before = scene.at("deepinfra").requests.length;
    const request = startChat(scene.gateway.url, tenant.key, chatBody());
    await (await scene.at("deepinfra").arrived(before + 1)).over;
    request.destroy();
    const [row] = await scene.rowsOnce(tenant, 1);
    expect(row).toMatchObject({ status: 499, error_code: "client_disconnected" });
    expect(outcomes(row)).toEqual(["retry"]);
    expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
    expect(scene.at("deepinfra").requests.length).toBe(before + 1);
  });
});

test("ROUTE-04 the wait never exceeds the request's timeout", async () => {
  const hasty = await openScene(["deepinfra"], { GATEWAY_REQUEST_TIMEOUT_MS: "1900" });
  try {
    const caller = await hasty.gateway.tenant();
    hasty.at("deepinfra").next(busy(429, "2"));
    const { status, headers } = await hasty.chat(caller.key);
    expect([status, headers.get("retry-after")]).toEqual([429, "2"]);
    expect(outcomes((await hasty.rows(caller))[0])).toEqual(["next"]);
  } finally {
    await hasty.close();
  }
});

test("ROUTE-04 ERR-07 retries a refused connection once, because nothing was sent", async () => {
  const nowhere = `http://127.0.0.1:${await unusedPort()}/v1`;
  const lone = await openScene([], { PROVIDER_DEEPINFRA_API_KEY: "k", PROVIDER_DEEPINFRA_BASE_URL: nowhere });
  try {
    const caller = await lone.gateway.tenant();
    const { status, body } = await lone.chat(caller.key);
    expect([status, body.error.code]).toEqual([502, "upstream_error"]);
    const [row] = await lone.rows(caller);
    expect(row.attempts).toMatchObject([
      { outcome: "retry", maybe_accepted: false, upstream_status: null },
      { outcome: "next", maybe_accepted: false, upstream_status: null },
    ]);
  } finally {
    await lone.close();
  }
});

test("ROUTE-04 does not wait for an endpoint while another one is left", async () => {
  const pair = await openScene(["deepinfra", "ovhcloud"]);
  try {
    const caller = await pair.gateway.tenant();
    pair.at("deepinfra").next(busy(429, "0"));
    pair.at("ovhcloud").next(busy(503, "0"));
    const { status, headers } = await pair.chat(caller.key);
    expect([status, headers.get("x-svc-provider")]).toEqual([200, "ovhcloud"]);
    const [row] = await pair.rows(caller);
    expect(row.attempts).toMatchObject([
      { provider: "deepinfra", outcome: "next" },
      { provider: "ovhcloud", outcome: "retry" },
      { provider: "ovhcloud", outcome: "served" },
    ]);
    await eventually(() => expect(pair.at("deepinfra").requests).toHaveLength(1));
  } finally {
    await pair.close();
  }
});

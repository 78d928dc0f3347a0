import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { Json, Tenant } from "../support/gateway.ts";
import { metricSum } from "../support/metrics.ts";
import { openScene, type Scene } from "../support/scene.ts";
import { chatJson } from "../support/upstream.ts";

let scene: Scene;
let tenant: Tenant;
beforeAll(async () => {
  scene = await openScene(["deepinfra", "ovhcloud"], { GATEWAY_ENDPOINT_CONCURRENCY: "1" });
});
afterAll(() => scene.close());
beforeEach(async () => {
  tenant = await scene.gateway.tenant();
});

/** Holds back the next reply of a provider until it is released. */
function occupy(provider: "deepinfra" | "ovhcloud") {
  const gate = Promise.withResolvers<void>();
  scene.at(provider).next({ gate: gate.promise, json: chatJson({ content: "late" }) });
  const reached = scene.at(provider).arrived(scene.at(provider).requests.length + 1);
  const answer = scene.chat(tenant.key);
  return { reached, answer, release: () => gate.resolve() };
}

test("RATE-06 ROUTE-04 a full endpoint is skipped, in log and headers; when all are full the status is 429", async () => {
  const first = occupy("deepinfra");
  await first.reached;
  const second = occupy("ovhcloud");
  await second.reached;
  for (const stream of [false, true]) {
    const { status, body, headers } = await scene.chat(tenant.key, { stream });
    expect([status, body.error.type, body.error.code]).toEqual([429, "rate_limit_error", "rate_limit_exceeded"]);
    expect(headers.get("retry-after")).toBe("1");
    expect([...headers.keys()].filter((name) => name.startsWith("x-ratelimit"))).toEqual([]);
  }
  second.release();
  const moved = await second.answer;
  expect([moved.status, moved.headers.get("x-svc-provider")]).toEqual([200, "ovhcloud"]);
  expect(moved.headers.get("x-svc-route-reason")).toContain("after 1 skipped");
  const { attempts } = await scene.row(String(moved.headers.get("x-svc-request-id")));
  expect(attempts).toMatchObject([
    { provider: "deepinfra", outcome: "next", duration_ms: 0, upstream_status: null, maybe_accepted: false },
    { provider: "ovhcloud", outcome: "served" },
  ]);
  expect(attempts[0].reason).toMatch(/skipped/);
  first.release();
  expect((await first.answer).status).toBe(200);
  expect((await scene.chat(tenant.key)).headers.get("x-svc-provider")).toBe("deepinfra");
  expect(await metricSum(scene, "gateway_passed_over_total", 'why="full"')).toBe(5);
  // Nothing failed, so nothing was taken from the retry budget.
  expect(await metricSum(scene, "gateway_retries_total")).toBe(0);
  expect(await scene.wallet(tenant)).toMatchObject({ held: "0.00" });
});

test("RATE-06 a slot is free again however its request ended", async () => {
  for (const script of [
    { status: 400, json: {} },
    { status: 500, json: {} },
    { end: { is: "cut", after: "before_headers" } },
    { body: "<html>" },
  ] as const) {
    scene.at("deepinfra").next(script);
    await scene.chat(tenant.key);
    expect((await scene.chat(tenant.key)).headers.get("x-svc-provider")).toBe("deepinfra");
  }
});

test("RATE-06 BILL-03 beyond the endpoints of the hold, only those are tried that the hold covers", async () => {
  const cheapestFirst = { model: "auto", provider: { only: ["deepinfra"], sort: "price" } };
  const { headers } = await scene.chat(tenant.key, cheapestFirst);
  const { decision } = await scene.row(String(headers.get("x-svc-request-id")));
  const modelOf = (id: string) => decision.candidates.find(({ endpoint }: Json) => endpoint === id).model;
  const [one, two, three, four, five, ...dearer] = decision.order;
  const gate = Promise.withResolvers<void>();
  const reached = scene.at("deepinfra").requests.length;
  const answers = [one, two, three, four, five].map((id) => {
    scene.at("deepinfra").next({ gate: gate.promise, json: chatJson({ content: "late" }) });
    return scene.chat(tenant.key, { model: modelOf(id), provider: { only: ["deepinfra"] } });
  });
  await scene.at("deepinfra").arrived(reached + 5);
  const refused = await scene.chat(tenant.key, cheapestFirst);
  expect([refused.status, refused.body.error.code]).toEqual([429, "rate_limit_exceeded"]);
  const { attempts } = await scene.row(refused.body.error.request_id);
  expect(attempts.slice(0, 5).map(({ reason }: Json) => reason)).toEqual(
    Array(5).fill(expect.stringContaining("concurrency limit")),
  );
  expect(attempts.slice(5).map(({ endpoint }: Json) => endpoint)).toEqual(dearer.slice(0, attempts.length - 5));
  expect(attempts.length).toBeGreaterThan(5);
  for (const { reason } of attempts.slice(5)) expect(reason).toContain("cost more than was held");
  gate.resolve();
  for (const answer of answers) expect((await answer).status).toBe(200);
});

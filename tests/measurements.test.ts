import { afterAll, beforeAll, expect, test } from "vitest";
import { type Json, startGateway, type TestGateway } from "./support/gateway.ts";

let gateway: TestGateway;
let key: string;

beforeAll(async () => {
  gateway = await startGateway();
  key = (await gateway.tenant()).key;
});
afterAll(() => gateway.close());

const measured = (query: string): Promise<Json> => gateway.manage("GET", `/measurements?${query}`);

test("PORTAL-07 measurements have uptime, latency and throughput with window and sample count", async () => {
  expect(await measured("model=sandbox/chat")).toMatchObject({ data: [], next: null, since: expect.any(String) });
  const body = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello" }] };
  for (let count = 0; count < 2; count++)
    expect((await gateway.call(key, "/v1/chat/completions", { body })).status).toBe(200);
  const { data, since, at } = await measured("model=sandbox/chat");
  expect(data).toHaveLength(1);
  expect(data[0]).toMatchObject({
    endpoint: expect.stringMatching(/:sandbox\/chat$/),
    attempts: 2,
    uptime: 1,
    samples: 2,
    latency: { p50_ms: expect.any(Number), p95_ms: expect.any(Number) },
    first_byte: null,
    tokens_per_second: expect.any(Number),
  });
  expect(Date.parse(since)).toBeLessThan(Date.parse(at));
});

test("PORTAL-07 failures lower the measured uptime, and measurements can be filtered by provider", async () => {
  const body = { model: "sandbox/fail-500", messages: [{ role: "user", content: "Hello" }] };
  expect((await gateway.call(key, "/v1/chat/completions", { body })).status).toBeGreaterThanOrEqual(500);
  const rows = (await measured("model=sandbox/fail-500")).data;
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toMatchObject({ uptime: 0, samples: 0, latency: null });
  const [{ provider }] = rows;
  const own = (await measured(`provider=${provider}`)).data;
  expect(own.length).toBeGreaterThan(0);
  expect(own.every((row: Json) => row.provider === provider)).toBe(true);
});

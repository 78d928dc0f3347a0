import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { ActivityRecorder } from "../../src/app/status/activity-recorder.ts";
import { StatusReport } from "../../src/app/status/status-report.ts";
import { loadCatalogue } from "../../src/domain/catalogue/load.ts";
import type { ActivityRow, ActivityStore, EndpointActivity } from "../../src/domain/routing/endpoint-activity.ts";
import { CircuitBreakers, LatencyTracker } from "../../src/domain/routing/endpoint-health.ts";
import { mergeSketch } from "../../src/kit/quantile-sketch.ts";
import { HOUR_MS, MINUTE_MS } from "../../src/kit/time.ts";
import { gatewayForTest, startGateway } from "../support/gateway.ts";
import { memoryFiles, NOON_MS, sampleFiles } from "../support/small-catalogue.ts";

const START_MS = Date.UTC(2027, 0, 15, 10);
const ENDPOINT = "acme:fr:lab/writer";

const loaded = await loadCatalogue(["catalogue"], NOON_MS, memoryFiles("catalogue", sampleFiles()));

/** As SQL does it, in memory. */
function memoryStore(): ActivityStore & { readonly rows: Map<string, ActivityRow>; isDown: boolean } {
  const rows = new Map<string, ActivityRow>();
  return {
    rows,
    isDown: false,
    async put(process, changed) {
      if (this.isDown) throw new Error("the store is down");
      for (const row of changed)
        rows.set(`${process} ${row.span} ${row.startMs} ${row.endpoint}`, {
          ...row,
          latencyMs: new Map(row.latencyMs),
        });
    },
    async since(span, fromMs) {
      const merged = new Map<string, EndpointActivity>();
      for (const row of rows.values()) {
        if (row.span !== span || row.startMs < fromMs) continue;
        const { endpoint } = row;
        const sum = merged.get(endpoint) ?? { endpoint, served: 0, failed: 0, latencyMs: new Map() };
        merged.set(endpoint, sum);
        sum.served += row.served;
        sum.failed += row.failed;
        mergeSketch(sum.latencyMs, row.latencyMs);
      }
      return [...merged.values()];
    },
    async sweep() {},
  };
}

function recorderAt(clock: { nowMs(): number; monotonicMs(): number }, store: ActivityStore, process = "p1") {
  const breakers = new CircuitBreakers(clock);
  const latencies = new LatencyTracker();
  const recorder = new ActivityRecorder({
    ...{ clock, process, breakers, latencies, store, endpointIds: () => [ENDPOINT], isLeader: () => true },
    probes: { since: async () => [] },
    warn: () => undefined,
  });
  onTestFinished(() => recorder.stop());
  const serve = (count: number, totalMs: number) => {
    for (let at = 0; at < count; at += 1) {
      breakers.recordSuccess(ENDPOINT);
      latencies.record(ENDPOINT, { totalMs, firstByteMs: null, outputTokens: 1 }, clock.nowMs());
    }
  };
  return { recorder, breakers, serve };
}

test("PORTAL-23 attempts are counted once per hour and day, also when the store was down for a while", async () => {
  let nowMs = START_MS;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const store = memoryStore();
  const { recorder, breakers, serve } = recorderAt(clock, store);
  serve(10, 100);
  await recorder.flush();
  await recorder.flush();
  store.isDown = true;
  serve(5, 300);
  breakers.recordFailure(ENDPOINT, undefined);
  nowMs += 59 * MINUTE_MS;
  await recorder.flush();
  nowMs += 2 * MINUTE_MS;
  store.isDown = false;
  serve(2, 100);
  await recorder.flush();
  const counts = (span: "hour" | "day") =>
    [...store.rows.values()]
      .filter((row) => row.span === span)
      .map(({ startMs, served, failed }) => [(startMs - START_MS) / HOUR_MS, served, failed]);
  expect(counts("hour")).toEqual([
    [0, 15, 1],
    [1, 2, 0],
  ]);
  expect(counts("day")).toEqual([[-10, 17, 1]]);
});

test("PORTAL-23 figures need 20 attempts, and endpoints without figures are not listed", async () => {
  if (!("snapshot" in loaded)) throw new Error("the sample catalogue is not valid");
  const { snapshot } = loaded;
  const clock = { nowMs: () => START_MS, monotonicMs: () => 0 };
  const store = memoryStore();
  const first = recorderAt(clock, store);
  const second = recorderAt(clock, store, "p2");
  const report = () =>
    new StatusReport({ clock, snapshot: () => snapshot, circuitStateOf: () => "closed", store }).read();
  first.serve(15, 100);
  await first.recorder.flush();
  expect((await report()).providers).toEqual([]);
  second.serve(4, 500);
  second.breakers.recordFailure(ENDPOINT, undefined);
  await second.recorder.flush();
  const [provider] = (await report()).providers;
  const { "24h": day, "90d": quarter } = provider?.endpoints[0]?.windows ?? {};
  expect(day).toEqual({ availability: 0.95, p50_ms: null, p95_ms: null });
  expect(quarter).toEqual(day);
  first.serve(1, 100);
  await first.recorder.flush();
  const [again] = (await report()).providers;
  expect(again?.endpoints[0]?.windows["24h"]?.availability).toBe(0.9523);
  const { p50_ms = 0, p95_ms = 0 } = again?.endpoints[0]?.windows["24h"] ?? {};
  expect([Math.abs((p50_ms ?? 0) - 100) <= 1, Math.abs((p95_ms ?? 0) - 500) <= 5]).toEqual([true, true]);
});

const CHAT = { model: "sandbox/chat", messages: [{ role: "user", content: "Hello!" }] };

test("PORTAL-23 /status is public and shows endpoints after a restart, without anything about a tenant", async () => {
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "gateway-status-"));
  onTestFinished(() => rm(dataDir, { recursive: true, force: true }));
  const first = await startGateway({ dataDir });
  const { slug, key, keyId } = await first.tenant();
  const empty = await fetch(`${first.url}/status`);
  expect(empty.status).toBe(200);
  expect(await empty.text()).toContain("All systems operational");
  for (let at = 0; at < 25; at += 1)
    expect((await first.call(key, "/v1/chat/completions", { body: CHAT })).status).toBe(200);
  await first.close();
  const second = await startGateway({ dataDir });
  onTestFinished(() => second.close());
  const { body, headers } = await second.call("", "/v1/public/status");
  expect(headers.get("cache-control")).toBe("public, max-age=60");
  expect(body.providers.flatMap((one: { endpoints: unknown[] }) => one.endpoints)).toContainEqual(
    expect.objectContaining({
      model: "sandbox/chat",
      state: "operational",
      windows: {
        "24h": { availability: 1, p50_ms: expect.any(Number), p95_ms: expect.any(Number) },
        "7d": expect.objectContaining({ availability: 1 }),
        "90d": expect.objectContaining({ availability: 1 }),
      },
    }),
  );
  const page = await fetch(`${second.url}/status`);
  const html = await page.text();
  expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(html).toContain("sandbox/chat");
  for (const secret of [slug, keyId, key]) expect(`${html}${JSON.stringify(body)}`).not.toContain(secret);
});

test("PORTAL-23 GATEWAY_STATUS_PAGE=off hides the page and its JSON", async () => {
  const gateway = await gatewayForTest({ env: { GATEWAY_STATUS_PAGE: "off" } });
  for (const where of ["/status", "/v1/public/status"])
    expect(await gateway.call("", where)).toMatchObject({ status: 404, body: { error: { code: "not_found" } } });
});

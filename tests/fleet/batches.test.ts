import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { batchCaller, chatLine } from "../support/batches.ts";
import { startFleet, type TestFleet } from "../support/fleet.ts";
import type { Json, TestGateway } from "../support/gateway.ts";
import { hasPostgres } from "../support/postgres.ts";
import { hasRedis } from "../support/redis.ts";
import { connectedTo, MODEL } from "../support/scene.ts";
import { chatJson, startUpstream, type Upstream } from "../support/upstream.ts";

describe.skipIf(!hasPostgres || !hasRedis)("two instances with one store", () => {
  let fleet: TestFleet;
  let upstreams: Upstream[];
  let instances: TestGateway[];
  beforeAll(async () => {
    // Slow enough that the instance without the call finds the batch before its end.
    const reply = { json: chatJson({ content: "ok" }), beforeHeadersMs: 90 };
    [fleet, ...upstreams] = await Promise.all([startFleet(), startUpstream(reply), startUpstream(reply)]);
    instances = [];
    for (const upstream of upstreams)
      instances.push(
        await fleet.add({
          ...connectedTo(new Map([["ionos", upstream]])),
          GATEWAY_BATCH_CONCURRENCY: "4",
          GATEWAY_RPM_IP: "0",
        }),
      );
  }, 60_000);
  afterAll(async () => {
    await fleet?.close();
    await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
  });

  test("BATCH-01 BILL-02 both work on one batch, and every line runs and is charged once", async () => {
    const [first, second] = instances as [TestGateway, TestGateway];
    const tenant = await first.tenant({ key: { rpm: 100_000 } });
    const caller = batchCaller((path, init) => second.call(tenant.key, path, init));
    // Several parts: one is 64 KiB of whole lines.
    const lines = Array.from({ length: 300 }, (_, at) => chatLine(`${at}`, `${at} ${"x".repeat(2000)}`, MODEL));
    const done = await caller.until((await caller.submit(lines)).id);
    expect([done.status, done.request_counts.completed]).toEqual(["completed", 300]);
    const results = await caller.results(done.output_file_id);
    expect(results.map(({ custom_id }) => custom_id)).toEqual(lines.map(({ custom_id }) => custom_id));
    const counts = upstreams.map(({ requests }) => requests.length);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(300);
    expect(Math.min(...counts)).toBeGreaterThan(0);
    const wallet = `/workspaces/${tenant.slug}/wallet`;
    await expect
      .poll(async () => {
        const { balance, held }: Json = await first.manage("GET", wallet);
        return [(100 - Number(balance)).toFixed(6), held];
      })
      .toEqual([done.svc.cost.toFixed(6), "0.00"]);
  }, 60_000);
});

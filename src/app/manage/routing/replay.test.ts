import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { finishedRecord } from "../../../../tests/support/records.ts";
import type { ReplayResult } from "../../pipeline/replay-routing.ts";
import { ReplayTally } from "./replay.ts";

const compared = (
  cost: readonly [bigint, bigint],
  more: Partial<Extract<ReplayResult, { is: "compared" }>> = {},
): ReplayResult => ({
  is: "compared",
  happened: { model: "a/one", nanos: cost[0], latencyMs: 100, quality: 0.5, level: "L0" },
  replayed: { model: "a/two", nanos: cost[1], latencyMs: 300, quality: 0.9, level: "L3" },
  by: "another endpoint",
  ...more,
});

describe("the sums", () => {
  test("ROUTE-07 cost is summed exactly; latency and quality are means over requests with both values", () => {
    const tally = new ReplayTally();
    tally.add(compared([1n, 2n]));
    tally.add(compared([9_007_199_254_740_993n, 5n]));
    const blind = compared([10n, 20n], {
      replayed: { model: "a/two", nanos: 20n, latencyMs: null, quality: null, level: null },
      by: "the same endpoint",
    });
    tally.add(blind);
    tally.add({ is: "left_out", reason: "x" });
    expect(tally.view()).toMatchObject({
      compared: 3,
      moved: 2,
      left_out: [{ reason: "x", requests: 1 }],
      happened: { requests: 3, cost: "9007199.254741004", latency_ms: 100, quality: 0.5 },
      replayed: { requests: 3, cost: "0.000000027", latency_ms: 300, quality: 0.9 },
      latency_requests: 2,
      quality_requests: 2,
      levels: [
        { level: "L0", happened: 3, replayed: 0 },
        { level: "L3", happened: 0, replayed: 2 },
        { level: "UNCLASSIFIED", happened: 0, replayed: 1 },
      ],
    });
  });

  test("recorded and replayed models are listed side by side", () => {
    const tally = new ReplayTally();
    tally.add(compared([1n, 2n]));
    const nothing = { requests: 0, cost: "0.00", latency_ms: null, quality: null };
    expect(tally.view().models).toEqual([
      {
        model: "a/one",
        happened: { requests: 1, cost: "0.000000001", latency_ms: 100, quality: 0.5 },
        replayed: nothing,
      },
      {
        model: "a/two",
        happened: nothing,
        replayed: { requests: 1, cost: "0.000000002", latency_ms: 300, quality: 0.9 },
      },
    ]);
  });
});

describe("many requests", () => {
  let room: ManageFixture;
  const params = { workspace: "lab", router: "auto" };

  beforeAll(async () => {
    room = await openManageFixture();
    const { id } = await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
    const records = Array.from({ length: 450 }, (_, at) =>
      finishedRecord(`chatcmpl-${at}`, {
        workspaceId: String(id),
        createdAtMs: room.nowMs() - 1 - at,
        decision: at % 2 === 0 ? null : { candidates: [], order: [], demand: {} },
      }),
    );
    await room.store.ingest(records);
  });
  afterAll(() => room.close());

  test("a long replay yields to the event loop and reads every page", async () => {
    let turns = 0;
    let over = false;
    const asked = room.ask("manageReplayRouter", { params, body: { limit: 10_000 } }).finally(() => {
      over = true;
    });
    while (!over) {
      await setImmediate();
      turns += 1;
    }
    expect(await asked).toMatchObject({
      found: 450,
      more: false,
      compared: 0,
      left_out: [
        { requests: 225, reason: "the log does not have its requirements" },
        { requests: 225, reason: "the router would refuse it: model_not_found" },
      ],
    });
    expect(turns).toBeGreaterThanOrEqual(450 / 25);
  });

  test("the limit is exact", async () => {
    for (const limit of [1, 25, 26, 449]) {
      const answer = await room.ask("manageReplayRouter", { params, body: { limit } });
      expect(answer).toMatchObject({ found: limit, more: true });
    }
    expect(await room.ask("manageReplayRouter", { params, body: { limit: 450 } })).toMatchObject({ more: false });
  });
});

test("a surface without a decoder is rejected by name", async () => {
  const room = await openManageFixture();
  try {
    await room.ask("manageCreateWorkspace", { body: { slug: "lab" } });
    const asked = { params: { workspace: "lab" }, body: { surface: "messages", request: {} } };
    const refused = await room.refusal("manageExplainRouting", asked);
    expect([refused.status, refused.param]).toEqual([400, "surface"]);
    // A field of that name inside the request is the request's own mistake.
    const inside = { params: { workspace: "lab" }, body: { model: "auto", request: { surface: 1 } } };
    expect(await room.ask("manageExplainRouting", inside)).toMatchObject({
      refusal: { code: "unsupported_parameter", param: "surface" },
    });
  } finally {
    await room.close();
  }
});

import { expect } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";
import { DAY_MS, HOUR_MS } from "../../src/kit/time.ts";
import { chargedRecord } from "./records.ts";

const DAY = Date.UTC(2027, 0, 15);

/** A store whose roll-ups lack charges of its ledger, opened by this version. */
export async function expectChargesAdded(
  open: () => Promise<Store>,
  change: (statements: readonly string[]) => Promise<void>,
): Promise<void> {
  let store = await open();
  await store.ingest([
    chargedRecord("r1", 5n, { createdAtMs: DAY + 1 }),
    chargedRecord("r2", 30n, { createdAtMs: DAY + HOUR_MS }),
    chargedRecord("r3", 7n, { createdAtMs: DAY + 2 * DAY_MS - 1 }),
    chargedRecord("r4", 2n ** 55n + 1n, { createdAtMs: DAY + DAY_MS, workspaceId: "ws_2" }),
  ]);
  await store.close();
  await change([
    "delete from request_records where id in ('r2', 'r4')",
    `update requests_daily set cost_nanos = 5 where workspace_id = 'ws_1' and day = '2027-01-15'`,
    `update requests_hourly set cost_nanos = 0 where workspace_id = 'ws_1' and hour_ms = ${DAY + HOUR_MS}`,
    "delete from requests_daily where workspace_id = 'ws_2'",
    "delete from requests_hourly where workspace_id = 'ws_2'",
  ]);
  const spans = [
    { fromMs: DAY, toMs: DAY + DAY_MS },
    { fromMs: DAY + DAY_MS, toMs: DAY + 2 * DAY_MS },
  ];
  const spent = async () =>
    Promise.all(["ws_1", "ws_2"].map((workspaceId) => store.ledger.spent(workspaceId, "charges", spans)));
  store = await open();
  expect(await spent()).toEqual([
    [5n, 7n],
    [0n, 0n],
  ]);
  // Twice: the second run adds nothing.
  for (let times = 0; times < 2; times += 1) {
    await store.close();
    await change(["delete from schema_migrations where number = 31"]);
    store = await open();
    expect(await spent()).toEqual([
      [35n, 7n],
      [0n, 2n ** 55n + 1n],
    ]);
    expect(await store.ledger.audit()).toEqual([]);
  }
  const days = { fromMs: DAY, toMs: DAY + 2 * DAY_MS, stepMs: DAY_MS, group: null, filter: {} };
  const usage = await store.rollups.usage("ws_1", days, 10);
  expect(usage.map(({ costNanos }) => costNanos)).toEqual([35n, 7n]);
  expect((await store.rollups.daily("ws_2", "2027-01-16", "2027-01-16")).map(({ model }) => model)).toEqual([""]);
  await store.close();
}

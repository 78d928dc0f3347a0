import { expect } from "vitest";
import type { Store } from "../../src/io/store/sql/store.ts";
import { DAY_MS } from "../../src/kit/time.ts";
import { chargedRecord } from "./records.ts";

const DAY = Date.UTC(2027, 0, 15);

/** What an audit of the changes reads again, in a store that statements change behind its back. */
export async function expectChangesAudited(store: Store, change: (statement: string) => Promise<void>): Promise<void> {
  const changes = () => store.ledger.auditChanges();
  await store.ingest([
    chargedRecord("r1", 30n, { createdAtMs: DAY }),
    chargedRecord("r2", 5n, { createdAtMs: DAY + DAY_MS }),
    chargedRecord("r3", 7n, { createdAtMs: DAY + 5 * DAY_MS }),
    chargedRecord("r4", 2n, { createdAtMs: DAY, workspaceId: "ws_2" }),
  ]);
  await change("update requests_hourly set cost_nanos = cost_nanos - 1 where workspace_id = 'ws_2'");
  const wrong = "cost_nanos of ws_2 on 2027-01-15 is 2 in requests_daily but 1 in requests_hourly";
  // What is not in order is not remembered.
  for (let times = 0; times < 2; times += 1) expect(await changes()).toEqual([wrong]);
  await change("update requests_hourly set cost_nanos = cost_nanos + 1 where workspace_id = 'ws_2'");
  expect(await changes()).toEqual([]);

  await change(
    `update requests_hourly set cost_nanos = cost_nanos - 1 where workspace_id = 'ws_1' and hour_ms = ${DAY}`,
  );
  expect(await changes()).toEqual([]);
  const hidden = "cost_nanos of ws_1 on 2027-01-15 is 30 in requests_daily but 29 in requests_hourly";
  expect(await store.ledger.audit()).toEqual([hidden]);
  // A request that arrives late: its day is read again.
  await store.ingest([chargedRecord("late", 4n, { createdAtMs: DAY })]);
  expect(await changes()).toEqual([
    "cost_nanos of ws_1 on 2027-01-15 is 34 in requests_daily but 33 in requests_hourly",
  ]);
  await change(
    `update requests_hourly set cost_nanos = cost_nanos + 1 where workspace_id = 'ws_1' and hour_ms = ${DAY}`,
  );
  expect([await changes(), await store.ledger.audit()]).toEqual([[], []]);

  await change("update wallets set balance_nanos = balance_nanos + 1 where workspace_id = 'ws_1'");
  for (let times = 0; times < 2; times += 1)
    expect(await changes()).toEqual(["the wallet of ws_1 has -45, but its ledger entries sum to -46"]);
  await change("update wallets set balance_nanos = balance_nanos - 1 where workspace_id = 'ws_1'");
  await change("delete from wallets where workspace_id = 'ws_2'");
  for (let times = 0; times < 2; times += 1)
    expect(await changes()).toEqual(["ws_2 has no wallet, but its ledger entries sum to -2"]);
  await change("insert into wallets (workspace_id, currency, balance_nanos) values ('ws_2', 'EUR', -2)");
  expect(await changes()).toEqual([]);
  await chargeTwice(store, change);

  await change("delete from requests_daily where workspace_id = 'ws_2'");
  const lost = await changes();
  expect(lost).toContain("requests of ws_2 on 2027-01-15 is 0 in requests_daily but 1 in requests_hourly");
  expect(lost).toContain("the wallet of ws_2 has -2, but its ledger entries sum to 0");
}

/** The same request at two times of a day: it is in all sums twice, so that they agree. */
async function chargeTwice(store: Store, change: (statement: string) => Promise<void>): Promise<void> {
  const at = DAY + 9 * DAY_MS;
  await store.ingest([chargedRecord("twice", 3n, { createdAtMs: at, workspaceId: "ws_3" })]);
  await change("delete from request_records where id = 'twice'");
  await store.ingest([chargedRecord("twice", 3n, { createdAtMs: at + 1, workspaceId: "ws_3" })]);
  expect(await store.ledger.auditChanges()).toEqual(["ledger transaction charge:twice was written 2 times"]);
}

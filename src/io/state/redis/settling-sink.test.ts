import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { listeningLog } from "../../../../tests/support/journal-fixture.ts";
import { hasPostgres } from "../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../tests/support/postgres-file.ts";
import { chargedRecord } from "../../../../tests/support/records.ts";
import {
  emptyWalletSources,
  hasRedis,
  openTestRedisState,
  type RedisServer,
  startRedis,
} from "../../../../tests/support/redis.ts";
import { topupOf } from "../../../domain/billing/ledger.ts";
import type { RequestRecord } from "../../../domain/record/record.ts";
import { encodeBatch } from "../../../domain/record/record-batch.ts";
import { dayOf, dayStartMs } from "../../../kit/calendar.ts";
import { systemClock } from "../../../kit/clock.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { openPostgres } from "../../store/sql/postgres/open.ts";
import type { Store } from "../../store/sql/store.ts";

const NOW_MS = Date.now();

const cluster = clusterForFile();
let server: RedisServer | undefined;
beforeAll(async () => {
  if (hasRedis) server = await startRedis();
});
afterAll(() => server?.close());

let names = 0;

/** A started instance over a ledger with 100, and whatever `before` adds. */
async function started(before: (store: Store) => Promise<void>) {
  names += 1;
  const address = await cluster.database("migrated");
  const settings = { dataDir: cluster.folder(), clock: systemClock, log: listeningLog(), isShared: true };
  const store = await openPostgres({ address, connections: 4, logRetentionMs: DAY_MS, ...settings });
  const posting = { id: "t1", workspaceId: "ws_1", currency: "EUR", nanos: 100n, createdAtMs: NOW_MS - 9 * DAY_MS };
  await store.ledger.post(topupOf(posting));
  await before(store);
  const redis = await openTestRedisState(server?.url ?? "", { prefix: `sink${names}:` });
  await redis.openWallets(emptyWalletSources({ balances: () => store.ledger.wallets() }));
  const sink = redis.sink(store, (charges) => store.ledger.chargedRequestIds(charges));
  return {
    state: redis.state,
    replay: (records: readonly RequestRecord[]) =>
      sink.ingestBatch(encodeBatch(records.map((one) => JSON.stringify(one)))),
    /** Another instance, which was killed and restarts with these records in its journal. */
    async replayElsewhere(records: readonly RequestRecord[]) {
      const other = await openTestRedisState(server?.url ?? "", { prefix: `sink${names}:` });
      const elsewhere = other.sink(store, (charges) => store.ledger.chargedRequestIds(charges));
      await elsewhere.ingestBatch(encodeBatch(records.map((one) => JSON.stringify(one))));
      await other.close();
    },
    async balances() {
      const live = await redis.state.wallet("ws_1");
      return { sql: (await store.ledger.wallet("ws_1"))?.balanceNanos, live: live.balanceNanos, held: live.heldNanos };
    },
    /** Totals of roll-ups and statement over all days. */
    async books() {
      const span = { fromMs: 0, toMs: dayStartMs(dayOf(NOW_MS) + 1) };
      const days = await store.rollups.daily("ws_1", "1970-01-01", "9999-12-31");
      const { kinds } = await store.ledger.statement("ws_1", span);
      return {
        counted: days.reduce((sum, { requests }) => sum + requests, 0),
        rolledUp: days.reduce((sum, { costNanos }) => sum + costNanos, 0n),
        stated: kinds.find(({ kind }) => kind === "charge")?.outNanos,
        audit: await store.ledger.audit(),
      };
    },
    async close() {
      await redis.close();
      await store.close();
    },
  };
}

describe.skipIf(!hasRedis || !hasPostgres)("records of an earlier life", () => {
  test("SCALE-03 BILL-02 a charge in SQL whose log row was purged is not taken off the wallet again", async () => {
    const old = chargedRecord("r_old", 10n, { createdAtMs: NOW_MS - 3 * DAY_MS });
    const gateway = await started(async (store) => {
      await store.ingest([old]);
      await store.log.sweep(NOW_MS - DAY_MS, 100);
      expect(await store.log.find("r_old")).toBeUndefined();
    });
    await gateway.replay([old]);
    expect(await gateway.balances()).toEqual({ sql: 90n, live: 90n, held: 0n });
    await gateway.close();
  });

  test("SCALE-03 BILL-02 a request logged as interrupted that has a charge now is taken off as in SQL", async () => {
    const again = chargedRecord("r_again", 10n, { createdAtMs: NOW_MS });
    const gateway = await started((store) => store.ingest([{ ...again, errorCode: "interrupted", charge: null }]));
    await gateway.replay([again]);
    expect(await gateway.balances()).toEqual({ sql: 90n, live: 90n, held: 0n });
    expect(await gateway.books()).toEqual({ counted: 1, rolledUp: 10n, stated: 10n, audit: [] });
    await gateway.close();
  });

  test.each([
    ["is over", -1000],
    ["lasts less long", DAY_MS / 2],
  ])("BILL-09 a record that %s does not replace a later charge under its key", async (_, forMs) => {
    const gateway = await started(async () => undefined);
    const [key, again] = ["k", { key: "k", body: "b2" }];
    await gateway.state.claimIdempotencyKey(again, "r2");
    const charged = { workspaceId: "ws_1", requestId: "r2", status: 200, nanos: 10n, currency: "EUR" };
    await gateway.state.recordKeyUse({ ...again, ...charged, expiresAtMs: NOW_MS + DAY_MS });
    const idempotency = { key, body: "b1", untilMs: NOW_MS + forMs };
    await gateway.replayElsewhere([chargedRecord("r1", 10n, { createdAtMs: NOW_MS, idempotency })]);
    expect(await gateway.state.claimIdempotencyKey(again, "r3")).toMatchObject({
      is: "remembered",
      charged: { requestId: "r2" },
    });
    await gateway.close();
  });

  test("BILL-09 BILL-02 a charge under an Idempotency-Key that Redis missed because of a crash answers the key after the replay", async () => {
    const gateway = await started(async () => undefined);
    const [first, use] = ["r_key", { key: "k", body: "b" }];
    expect(await gateway.state.claimIdempotencyKey(use, first)).toEqual({ is: "claimed", coverage: "all" });
    const idempotency = { ...use, untilMs: NOW_MS + DAY_MS };
    await gateway.replayElsewhere([chargedRecord(first, 10n, { createdAtMs: NOW_MS, idempotency })]);
    expect(await gateway.state.claimIdempotencyKey(use, "r_again")).toMatchObject({
      is: "remembered",
      charged: { requestId: first, nanos: 10n, status: 200 },
    });
    expect(await gateway.balances()).toEqual({ sql: 90n, live: 90n, held: 0n });
    await gateway.close();
  });

  test("SCALE-03 BILL-02 of a batch that SQL has partly, each charge is taken off once", async () => {
    const all = Array.from({ length: 30 }, (_, n) => chargedRecord(`r${n}`, 1n, { createdAtMs: NOW_MS - n }));
    const gateway = await started((store) => store.ingest(all.slice(0, 10)));
    await gateway.replay(all);
    await gateway.replay(all);
    expect(await gateway.balances()).toEqual({ sql: 70n, live: 70n, held: 0n });
    await gateway.close();
  });
});

import { describe, expect, test } from "vitest";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { hasPostgres } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord } from "../../../../../tests/support/records.ts";
import { encodeBatch } from "../../../../domain/record/record-batch.ts";
import { encodeCompact } from "../../../../domain/record/record-text.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { openPostgres } from "./open.ts";

const cluster = clusterForFile();

describe.skipIf(!hasPostgres)("records that a journal has in their short form", () => {
  test("SCALE-05 are expanded in PostgreSQL, for instances of the previous version", async () => {
    const address = await cluster.database("migrated");
    const dataDir = cluster.folder();
    const store = await openPostgres({ address, connections: 4, dataDir, clock: systemClock, log: listeningLog() });
    const records = [chargedRecord("r1", 3n), chargedRecord("r2", 4n, { app: "no text: \u0000" })];
    await store.ingestBatch(encodeBatch(records.map(encodeCompact)));
    await store.ingestBatch(encodeBatch([store.encodeRecord(chargedRecord("r3", 5n))]));
    const rows = await cluster.query(address, "select id, record from request_records order by id");
    expect(rows.map(({ record }) => JSON.parse(String(record)))).toEqual([
      records[0],
      { ...records[1], app: "no text: \ufffd" },
      chargedRecord("r3", 5n),
    ]);
    const spaced = JSON.stringify(JSON.parse(encodeCompact(chargedRecord("r4", 0n))), undefined, 1);
    await store.ingestBatch(encodeBatch([spaced]));
    const [fourth] = await cluster.query(address, "select record from request_records where id = 'r4'");
    expect(JSON.parse(String(fourth?.["record"]))).toEqual(chargedRecord("r4", 0n));
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-12n);
    await store.close();
  });

  test("SCALE-05 are expanded in the log outbox too", async () => {
    const address = await cluster.database("migrated");
    const dataDir = cluster.folder();
    const store = await openPostgres({ address, connections: 4, dataDir, clock: systemClock, log: listeningLog() });
    const record = encodeCompact(chargedRecord("r1", 3n));
    await store.logOutbox.add(["files"], [{ requestId: "r1", record, queuedAtMs: 1, isCharged: true }]);
    const [waiting] = await store.logOutbox.nextBatch("files", 1);
    expect(JSON.parse(waiting?.record ?? "")).toEqual(chargedRecord("r1", 3n));
    await store.close();
  });
});

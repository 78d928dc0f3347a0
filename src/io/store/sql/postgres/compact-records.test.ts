import { describe, expect, test } from "vitest";
import { listeningLog } from "../../../../../tests/support/journal-fixture.ts";
import { hasPostgres } from "../../../../../tests/support/postgres.ts";
import { clusterForFile } from "../../../../../tests/support/postgres-file.ts";
import { chargedRecord } from "../../../../../tests/support/records.ts";
import { encodeBatch } from "../../../../domain/record/record-batch.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { openPostgres } from "./open.ts";

const cluster = clusterForFile();

describe.skipIf(!hasPostgres)("records in PostgreSQL", () => {
  test("SCALE-05 SCALE-23 are stored in their short form, and read in full like those of earlier versions", async () => {
    const address = await cluster.database("migrated");
    const dataDir = cluster.folder();
    const store = await openPostgres({ address, connections: 4, dataDir, clock: systemClock, log: listeningLog() });
    const records = [chargedRecord("r1", 3n), chargedRecord("r2", 4n, { app: "no text: \u0000" })];
    const earlier = chargedRecord("r3", 5n);
    await store.ingest(records);
    await store.ingestBatch(encodeBatch([JSON.stringify(earlier)]));
    const rows = await cluster.query(
      address,
      "select id, length(record)::int as chars, charge_nanos from requests order by id",
    );
    expect(rows.map(({ charge_nanos }) => Number(charge_nanos))).toEqual([3, 4, 5]);
    expect(Number(rows[0]?.["chars"])).toBeLessThan(0.75 * Number(rows[2]?.["chars"]));
    expect(await Promise.all(["r1", "r2", "r3"].map((id) => store.log.find(id)))).toEqual([
      records[0],
      { ...records[1], app: "no text: \ufffd" },
      earlier,
    ]);
    expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-12n);
    expect(await store.ledger.audit()).toEqual([]);
    await store.close();
  });
});

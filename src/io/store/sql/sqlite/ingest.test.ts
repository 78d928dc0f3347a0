import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chargedRecord, finishedRecord } from "../../../../../tests/support/records.ts";
import { layTables } from "../../../../../tests/support/tables.ts";
import type { RequestRecord } from "../../../../domain/record/record.ts";
import { encodeBatch, RecordRejectedError } from "../../../../domain/record/record-batch.ts";
import { encodeCompact } from "../../../../domain/record/record-text.ts";
import { systemClock } from "../../../../kit/clock.ts";
import type { Store } from "../store.ts";
import { prepareIngest } from "./ingest.ts";
import { DATABASE_FILE, openSqlite } from "./open.ts";
import { openDatabaseFile } from "./open-database-file.ts";

/** Around the number of rows that one statement writes, and around twice that. */
const SIZES = [1, 47, 48, 49, 95, 96, 97, 200];
let folder = "";
let store: Store;

beforeEach(async () => {
  folder = mkdtempSync(path.join(tmpdir(), "gateway-ingest-"));
  await layTables(folder);
  store = await openSqlite(folder, systemClock);
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true, force: true });
});

/** Every third cost nothing; the others cost one more each. */
function recordsOf(name: string, count: number): RequestRecord[] {
  return Array.from({ length: count }, (_, n) =>
    n % 3 === 2 ? finishedRecord(`${name}-${n}`, { charge: null }) : chargedRecord(`${name}-${n}`, BigInt(n + 1)),
  );
}

const nanosOf = (records: readonly RequestRecord[]) =>
  records.reduce((sum, { charge }) => sum + BigInt(charge?.nanos ?? 0), 0n);

async function expectBooked(records: readonly RequestRecord[]): Promise<void> {
  expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-nanosOf(records));
  const days = await store.rollups.daily("ws_1", "2027-01-15", "2027-01-15");
  expect(days.map(({ requests, costNanos }) => ({ requests, costNanos }))).toEqual([
    { requests: records.length, costNanos: nanosOf(records) },
  ]);
  expect(await store.ledger.audit()).toEqual([]);
  for (const record of records) expect(await store.log.find(record.id)).toEqual(record);
}

describe("batches of every size", () => {
  test("BILL-02 are charged and counted once, as new ones and when repeated", async () => {
    const all: RequestRecord[] = [];
    for (const size of SIZES) {
      const batch = recordsOf(`size${size}`, size);
      all.push(...batch);
      await store.ingest(batch);
      await expectBooked(all);
    }
    await store.ingest(all);
    await expectBooked(all);
  });

  test("BILL-02 are charged and counted once when some rows exist already or appear twice in the batch", async () => {
    const all: RequestRecord[] = [];
    for (const size of SIZES) {
      const batch = recordsOf(`size${size}`, size);
      all.push(...batch);
      await store.ingest(batch.slice(size >> 1, (size >> 1) + 1));
      await store.ingest([...batch, ...batch.slice(-1)]);
      await expectBooked(all);
    }
  });

  test("SCALE-23 are committed in part when others wait for the connection, and the rest follows", async () => {
    const records = recordsOf("parts", 250);
    await store.close();
    const db = openDatabaseFile(path.join(folder, DATABASE_FILE));
    const ingest = prepareIngest(db, () => true);
    const { bytes, bounds } = encodeBatch(records.map(encodeCompact));
    const committed: number[] = [];
    for (let rest = bounds; rest.length > 0; rest = rest.slice(2 * (committed.at(-1) ?? 0)))
      committed.push(ingest({ bytes, bounds: rest }));
    expect(committed).toEqual([96, 96, 58]);
    db.close();
    store = await openSqlite(folder, systemClock);
    await expectBooked(records);
  });

  test("BILL-02 leave nothing for the next batch when rejected", async () => {
    const good = recordsOf("good", 60);
    for (const size of SIZES) {
      const batch = [...recordsOf("half", size), chargedRecord("bad", -5n)];
      await expect(store.ingest(batch)).rejects.toThrow(RecordRejectedError);
    }
    await store.ingest(good);
    await expectBooked(good);
    expect(await store.log.find("half-0")).toBeUndefined();
  });
});

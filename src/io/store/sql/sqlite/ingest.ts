import type { DatabaseSync } from "node:sqlite";
import { CHARGE, chargedNanosOf, chargeIdOf } from "../../../../domain/billing/ledger.ts";
import { type BookedFields, readBooked } from "../../../../domain/record/booked.ts";
import type { RecordBatch } from "../../../../domain/record/ingest.ts";
import type { ChargeRecord } from "../../../../domain/record/record.ts";
import {
  DailyFold,
  type DailyUsage,
  HourlyFold,
  type HourlyUsage,
  type UsageSums,
} from "../../../../domain/record/rollup.ts";
import { type RequestShape, ShapeNumbers } from "../../../../domain/record/shape.ts";
import { StoreError } from "../store-error.ts";
import { USAGE_COLUMNS } from "../usage-columns.ts";
import { WalletSums } from "../wallet-sums.ts";

/** So many are written at a stretch. */
const STRETCH = 48;
const TURN_MS = 1;
const nobody = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Where this thread has no core of its own, a batch in one go would keep every request waiting that runs meanwhile. */
function letOthersRun(): void {
  Atomics.wait(nobody, 0, 0, TURN_MS);
}

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once. One that
 * was there as free and is charged now takes the place of its row.
 */
export function prepareIngest(db: DatabaseSync): (batch: RecordBatch) => void {
  const write = prepareWriters(db);
  const shapes = new ShapeNumbers();
  return ({ bytes, bounds }) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const daily = new DailyFold();
    const hourly = new HourlyFold();
    const spent = new WalletSums();
    db.exec("begin immediate");
    try {
      for (let at = 0; at < bounds.length; at += 2) {
        if (at > 0 && at % (2 * STRETCH) === 0) letOthersRun();
        const text = buffer.subarray(bounds[at], bounds[at + 1]);
        const record = readBooked(text);
        const { charge, workspaceId } = record;
        const nanos = chargedNanosOf(record);
        if (record.idempotency !== undefined && nanos > 0n) write.keyUse(record, record.idempotency, nanos);
        const shape = shapes.of(record, (number, parts) => write.shape(workspaceId, number, parts));
        const isNew = write.request(record, shape, text);
        const owed = nanos > 0n ? charge : null;
        const isBooked = owed !== null && write.charge(record, owed, nanos);
        if (isBooked) spent.add(workspaceId, owed.currency, nanos);
        if (isBooked && !isNew) {
          const free = write.inPlaceOfFree(record, shape, text);
          daily.takeBack(free.record);
          hourly.takeBack(free.record, free.shape);
        }
        // What is charged counts with its charge, so that roll-ups come to what the ledger does; what is free, with its row.
        if (owed === null ? isNew : isBooked) {
          daily.add(record, nanos);
          hourly.add(record, shape, nanos);
        }
      }
      for (const { workspaceId, currency, nanos } of spent.rows()) write.wallet(workspaceId, currency, -nanos);
      for (const row of daily.rows()) write.daily(row);
      for (const row of hourly.rows()) write.hourly(row);
      db.exec("commit");
    } catch (error) {
      shapes.forget();
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
}

/** In the order of the columns. */
function sumsOf(row: UsageSums) {
  return [
    row.requests,
    row.errors,
    row.inputTokens,
    row.cachedTokens,
    row.cacheWriteTokens,
    row.outputTokens,
    row.reasoningTokens,
    row.characters,
    row.audioMs,
    row.costNanos,
    row.timedRequests,
    row.totalMs,
    row.streamedRequests,
    row.firstByteMs,
  ];
}

const adding = (table: string, keys: number) =>
  `insert into ${table} values (${Array(keys + USAGE_COLUMNS.length)
    .fill("?")
    .join(", ")}) on conflict do update
   set ${USAGE_COLUMNS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(", ")}`;

function prepareWriters(db: DatabaseSync) {
  const request = db.prepare("insert into request_records values (?, ?, ?, cast(? as text), ?) on conflict do nothing");
  const removed = db.prepare("delete from request_records where id = ? returning record, shape");
  const shape = db.prepare(
    "insert into request_shapes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
  );
  // No transfer can be out of balance; what is the same for every charge is a part of the statement.
  const charge = db.prepare(
    `insert into ledger_transactions values (?, ?, ?, 'charge', '${CHARGE.from}', '${CHARGE.to}', ?, ?, null, ?)
     on conflict do nothing`,
  );
  const wallet = db.prepare(
    `insert into wallets values (?, ?, ?) on conflict do update
     set balance_nanos = balance_nanos + excluded.balance_nanos where currency = excluded.currency`,
  );
  // A key that is free again after its time may be there still; an old record that is sent again changes nothing.
  const keyUse = db.prepare(
    `insert into idempotency_keys values (?, ?, ?, ?, ?, ?, ?, ?) on conflict do update
     set body_digest = excluded.body_digest, request_id = excluded.request_id, status = excluded.status,
       charged_nanos = excluded.charged_nanos, currency = excluded.currency, expires_at_ms = excluded.expires_at_ms
     where excluded.expires_at_ms > expires_at_ms`,
  );
  const daily = db.prepare(adding("requests_daily", 6));
  const hourly = db.prepare(adding("requests_hourly", 3));
  return {
    shape(workspaceId: string, number: number, parts: RequestShape): void {
      const { keyId, memberId, environment, app, modelRequested, model, provider, status, surface } = parts;
      const own = [keyId, memberId, environment, app, modelRequested, model, provider, status, surface];
      shape.run(workspaceId, number, ...own);
    },
    request({ id, workspaceId, createdAtMs }: BookedFields, shape: number, text: Buffer): boolean {
      const { changes } = request.run(id, workspaceId, Math.trunc(createdAtMs), text, shape);
      return changes !== 0;
    },
    /** The request was written as one that cost nothing, and its charge has come: the row that it had. */
    inPlaceOfFree(record: BookedFields, shape: number, text: Buffer): { record: BookedFields; shape: number } {
      const row = removed.get(record.id);
      this.request(record, shape, text);
      return { record: readBooked(Buffer.from(String(row?.["record"]))), shape: Number(row?.["shape"]) };
    },
    charge(
      { id, workspaceId, createdAtMs }: BookedFields,
      { currency, price, rate, margin }: ChargeRecord,
      nanos: bigint,
    ) {
      const detail = JSON.stringify({ price, rate, margin });
      const { changes } = charge.run(workspaceId, Math.trunc(createdAtMs), chargeIdOf(id), currency, nanos, detail);
      return changes !== 0;
    },
    wallet(workspaceId: string, currency: string, nanos: bigint): void {
      const { changes } = wallet.run(workspaceId, currency, nanos);
      if (changes === 0) throw new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
    },
    keyUse(record: BookedFields, use: NonNullable<BookedFields["idempotency"]>, nanos: bigint): void {
      const { id, workspaceId, status, charge } = record;
      const untilMs = Math.trunc(use.untilMs);
      keyUse.run(use.key, use.body, workspaceId, id, status, nanos, charge?.currency ?? "", untilMs);
    },
    daily(row: DailyUsage): void {
      const { workspaceId, day, keyId, model, provider, environment } = row;
      daily.run(workspaceId, day, keyId, model, provider, environment, ...sumsOf(row));
    },
    hourly(row: HourlyUsage): void {
      hourly.run(row.workspaceId, row.hourMs, row.shape, ...sumsOf(row));
    },
  };
}

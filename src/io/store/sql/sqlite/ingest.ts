import type { DatabaseSync } from "node:sqlite";
import { CHARGE, chargedNanosOf, chargeIdOf } from "../../../../domain/billing/ledger.ts";
import { type IngestFields, parseIngestFields } from "../../../../domain/record/ingest-fields.ts";
import { IngestFieldsReader } from "../../../../domain/record/ingest-fields-reader.ts";
import type { ChargeRecord } from "../../../../domain/record/record.ts";
import type { RecordBatch } from "../../../../domain/record/record-batch.ts";
import { type RequestShape, ShapeIds } from "../../../../domain/record/request-shape.ts";
import {
  DailyRollup,
  type DailyUsage,
  HourlyRollup,
  type HourlyUsage,
  type UsageSums,
} from "../../../../domain/record/rollup.ts";
import { StoreError } from "../store-error.ts";
import { USAGE_COLUMNS } from "../usage-columns.ts";
import { WalletDebits } from "../wallet-debits.ts";
import { BulkInsert } from "./bulk-insert.ts";
import { isUniqueViolation } from "./errors.ts";

/** So many are written at a stretch. */
const ROWS_PER_SLICE = 48;
const YIELD_MS = 1;
const neverNotified = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** Where this thread has no core of its own, a batch in one go would keep every request waiting that runs meanwhile. */
function yieldCore(): void {
  Atomics.wait(neverNotified, 0, 0, YIELD_MS);
}

type IngestStatements = ReturnType<typeof prepareStatements>;

/** A finished request on its way; `owed` is its charge when that is more than nothing. */
type Booking = {
  readonly record: IngestFields;
  readonly owed: ChargeRecord | null;
  readonly nanos: bigint;
  readonly shape: number;
  readonly text: Buffer;
};

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once. One that
 * was there as free and is charged now takes the place of its row.
 * Nearly every batch is new as a whole and is written as such; one that is not begins anew, with a look at each row.
 */
export function prepareIngest(db: DatabaseSync): (batch: RecordBatch) => void {
  const write = prepareStatements(db);
  const shapes = new ShapeIds();
  const reader = new IngestFieldsReader();
  const bookAll = ({ bytes, bounds }: RecordBatch, book: typeof insertNew) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const sums = new BatchSums();
    db.exec("begin immediate");
    try {
      for (let at = 0; at < bounds.length; at += 2) {
        if (at > 0 && at % (2 * ROWS_PER_SLICE) === 0) yieldCore();
        const text = buffer.subarray(bounds[at], bounds[at + 1]);
        const record = reader.read(text);
        const nanos = chargedNanosOf(record);
        if (record.idempotency !== undefined && nanos > 0n) write.keyUse(record, record.idempotency, nanos);
        const shape = shapes.idOf(record, (number, parts) => write.shape(record.workspaceId, number, parts));
        book(write, { record, owed: nanos > 0n ? record.charge : null, nanos, shape, text }, sums);
      }
      write.rest();
      sums.writeTo(write);
      db.exec("commit");
    } catch (error) {
      shapes.clear();
      write.forget();
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
  return (batch) => {
    try {
      bookAll(batch, insertNew);
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      bookAll(batch, insertIfAbsent);
    }
  };
}

function insertNew(write: IngestStatements, booking: Booking, sums: BatchSums): void {
  write.newRequest(booking);
  if (booking.owed !== null) {
    write.newCharge(booking, booking.owed);
    sums.debit(booking, booking.owed);
  }
  sums.add(booking);
}

function insertIfAbsent(write: IngestStatements, booking: Booking, sums: BatchSums): void {
  const { owed } = booking;
  const isNew = write.request(booking);
  const isBooked = owed !== null && write.charge(booking, owed);
  if (isBooked) sums.debit(booking, owed);
  if (isBooked && !isNew) sums.subtract(write.inPlaceOfFree(booking));
  // What is charged counts with its charge, so that roll-ups come to what the ledger does; what is free, with its row.
  if (owed === null ? isNew : isBooked) sums.add(booking);
}

/** What a batch comes to. */
class BatchSums {
  readonly #daily = new DailyRollup();
  readonly #hourly = new HourlyRollup();
  readonly #spent = new WalletDebits();

  debit({ record, nanos }: Booking, { currency }: ChargeRecord): void {
    this.#spent.add(record.workspaceId, currency, nanos);
  }

  add({ record, shape, nanos }: Booking): void {
    this.#daily.add(record, nanos);
    this.#hourly.add(record, shape, nanos);
  }

  subtract({ record, shape }: Pick<Booking, "record" | "shape">): void {
    this.#daily.subtract(record);
    this.#hourly.subtract(record, shape);
  }

  writeTo(write: IngestStatements): void {
    for (const { workspaceId, currency, nanos } of this.#spent.rows()) write.wallet(workspaceId, currency, -nanos);
    for (const row of this.#daily.rows()) write.daily(row);
    for (const row of this.#hourly.rows()) write.hourly(row);
  }
}

/** In the order of the columns. */
function usageValues(row: UsageSums) {
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

const accumulateSql = (table: string, keys: number) =>
  `insert into ${table} values (${Array(keys + USAGE_COLUMNS.length)
    .fill("?")
    .join(", ")}) on conflict do update
   set ${USAGE_COLUMNS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(", ")}`;

const REQUEST_ROW = "(?, ?, ?, cast(? as text), ?)";

function requestValues({ record, shape, text }: Booking) {
  return [record.id, record.workspaceId, Math.trunc(record.createdAtMs), text, shape];
}

// No transfer can be out of balance; what is the same for every charge is a part of the statement.
const CHARGE_ROW = `(?, ?, ?, 'charge', '${CHARGE.from}', '${CHARGE.to}', ?, ?, null, ?)`;

function chargeValues({ record, nanos }: Booking, { currency, price, rate, margin }: ChargeRecord) {
  const detail = JSON.stringify({ price, rate, margin });
  return [record.workspaceId, Math.trunc(record.createdAtMs), chargeIdOf(record.id), currency, nanos, detail];
}

function prepareStatements(db: DatabaseSync) {
  const request = db.prepare(`insert into request_records values ${REQUEST_ROW} on conflict do nothing`);
  const newRequests = new BulkInsert(db, "request_records", REQUEST_ROW, ROWS_PER_SLICE);
  const removed = db.prepare("delete from request_records where id = ? returning record, shape");
  const shape = db.prepare(
    "insert into request_shapes values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) on conflict do nothing",
  );
  const charge = db.prepare(`insert into ledger_transactions values ${CHARGE_ROW} on conflict do nothing`);
  const newCharges = new BulkInsert(db, "ledger_transactions", CHARGE_ROW, ROWS_PER_SLICE);
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
  const daily = db.prepare(accumulateSql("requests_daily", 6));
  const hourly = db.prepare(accumulateSql("requests_hourly", 3));
  return {
    shape(workspaceId: string, number: number, parts: RequestShape): void {
      const { keyId, memberId, environment, app, modelRequested, model, provider, status, surface } = parts;
      const own = [keyId, memberId, environment, app, modelRequested, model, provider, status, surface];
      shape.run(workspaceId, number, ...own);
    },
    newRequest(booking: Booking): void {
      newRequests.add(...requestValues(booking));
    },
    newCharge(booking: Booking, owed: ChargeRecord): void {
      newCharges.add(...chargeValues(booking, owed));
    },
    /** Those of the new ones that wait for more of their kind. */
    rest(): void {
      newRequests.flush();
      newCharges.flush();
    },
    forget(): void {
      newRequests.discard();
      newCharges.discard();
    },
    /** False: it is there already. */
    request(booking: Booking): boolean {
      return request.run(...requestValues(booking)).changes !== 0;
    },
    charge(booking: Booking, owed: ChargeRecord): boolean {
      return charge.run(...chargeValues(booking, owed)).changes !== 0;
    },
    /** The request was written as one that cost nothing, and its charge has come: the row that it had. */
    inPlaceOfFree(booking: Booking): Pick<Booking, "record" | "shape"> {
      const row = removed.get(booking.record.id);
      this.request(booking);
      return { record: parseIngestFields(Buffer.from(String(row?.["record"]))), shape: Number(row?.["shape"]) };
    },
    wallet(workspaceId: string, currency: string, nanos: bigint): void {
      const { changes } = wallet.run(workspaceId, currency, nanos);
      if (changes === 0) throw new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
    },
    keyUse(record: IngestFields, use: NonNullable<IngestFields["idempotency"]>, nanos: bigint): void {
      const { id, workspaceId, status, charge } = record;
      const untilMs = Math.trunc(use.untilMs);
      keyUse.run(use.key, use.body, workspaceId, id, status, nanos, charge?.currency ?? "", untilMs);
    },
    daily(row: DailyUsage): void {
      const { workspaceId, day, keyId, model, provider, environment } = row;
      daily.run(workspaceId, day, keyId, model, provider, environment, ...usageValues(row));
    },
    hourly(row: HourlyUsage): void {
      hourly.run(row.workspaceId, row.hourMs, row.shape, ...usageValues(row));
    },
  };
}

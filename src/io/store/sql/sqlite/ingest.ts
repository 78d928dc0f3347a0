import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { chargedNanosOf, chargeIdOf } from "../../../../domain/billing/charge.ts";
import { packColumns } from "../../../../domain/record/candidate-columns.ts";
import type { IngestFields, RequestShape } from "../../../../domain/record/ingest-fields.ts";
import type { ChargeRecord } from "../../../../domain/record/record.ts";
import { FULL_BATCH_RECORDS, type RecordBatch } from "../../../../domain/record/record-batch.ts";
import { IngestFieldsReader, parseIngestFields } from "../../../../domain/record/record-text.ts";
import { ShapeIds } from "../../../../domain/record/request-shape.ts";
import { DailyRollup, HourlyRollup, WalletDebits } from "../../../../domain/record/rollup.ts";
import type { DailyUsage, HourlyUsage, UsageSums } from "../../../../domain/record/usage-sums.ts";
import { encodeSketches } from "../../../../kit/quantile-sketch.ts";
import { StoreError } from "../store-error.ts";
import { USAGE_COLUMNS, USAGE_FIELDS } from "../usage-columns.ts";
import { isUniqueViolation } from "./errors.ts";
import {
  ADD_DAILY,
  ADD_HOURLY,
  ADD_IDEMPOTENCY_USE,
  ADD_SHAPE,
  CHARGE_ROW,
  type IngestRow,
  insertNewRows,
  insertUnlessStored,
  MOVE_WALLET,
  REMOVE_REQUEST,
  REQUEST_ROW,
  type RowTemplate,
} from "./ingest-sql.ts";

/** Rows per insert statement, and rows between two yields. */
const ROWS_PER_SLICE = 48;
/** Fewer rows are not worth a commit of their own. */
const ROWS_PER_COMMIT_MIN = 2 * ROWS_PER_SLICE;
const YIELD_MS = 1;
/** Longer records have the candidates of a router, which are compressed. */
const PACKED_FROM_BYTES = 4096;
const neverNotified = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

/** On a machine without a spare core, a batch in one go would delay every request that runs meanwhile. */
function yieldCore(): void {
  Atomics.wait(neverNotified, 0, 0, YIELD_MS);
}

/** Writes a batch and returns how many of its records were committed. */
export type Ingest = (batch: RecordBatch) => number;

type IngestStatements = ReturnType<typeof prepareStatements>;

/**
 * Writes log row, ledger transaction, wallet and roll-ups of finished requests in one transaction. Ingest is idempotent: a
 * request counts once, and its charge moves money once. A row that was stored as free is replaced when its charge arrives.
 * Nearly every batch is entirely new and is written as such; otherwise it is rolled back and repeated row by row.
 *
 * Returns how many records were committed: when `isAwaited`, others get the connection before the rest of the batch.
 */
export function prepareIngest(db: DatabaseSync, isAwaited: () => boolean): Ingest {
  const statements = prepareStatements(db);
  const shapes = new ShapeIds();
  const reader = new IngestFieldsReader();
  const ingestAll = ({ bytes, bounds }: RecordBatch, insert: typeof insertNew) => {
    const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const totals = new BatchTotals();
    // While records wait, pauses would only make more of them wait.
    const yields = bounds.length < 2 * FULL_BATCH_RECORDS;
    let at = 0;
    db.exec("begin immediate");
    try {
      for (; at < bounds.length; at += 2) {
        if (yields && at > 0 && at % (2 * ROWS_PER_SLICE) === 0) yieldCore();
        if (at > 0 && at % (2 * ROWS_PER_COMMIT_MIN) === 0 && isAwaited()) break;
        const text = buffer.subarray(bounds[at], bounds[at + 1]);
        const record = reader.read(text);
        const nanos = chargedNanosOf(record);
        if (record.idempotency !== undefined && nanos > 0n)
          statements.idempotencyUse(record, record.idempotency, nanos);
        const shape = shapes.idOf(record, (id, parts) => statements.shape(record.workspaceId, id, parts));
        const stored = text.length > PACKED_FROM_BYTES ? packColumns(text) : text;
        insert(statements, { record, charge: nanos > 0n ? record.charge : null, nanos, shape, text: stored }, totals);
      }
      statements.flush();
      totals.writeTo(statements);
      db.exec("commit");
      return at / 2;
    } catch (error) {
      shapes.clear();
      statements.discard();
      if (db.isTransaction) db.exec("rollback");
      throw error;
    }
  };
  return (batch) => {
    try {
      return ingestAll(batch, insertNew);
    } catch (error) {
      if (!isUniqueViolation(error)) throw error;
      return ingestAll(batch, insertIfAbsent);
    }
  };
}

function insertNew(statements: IngestStatements, row: IngestRow, totals: BatchTotals): void {
  statements.newRequest(row);
  if (row.charge !== null) {
    statements.newCharge(row, row.charge);
    totals.debit(row, row.charge);
  }
  totals.add(row);
}

function insertIfAbsent(statements: IngestStatements, row: IngestRow, totals: BatchTotals): void {
  const { charge } = row;
  const isNew = statements.request(row);
  const isCharged = charge !== null && statements.charge(row, charge);
  if (isCharged) totals.debit(row, charge);
  if (isCharged && !isNew) totals.subtract(statements.replaceFreeRow(row));
  // Charged requests count with their charge, so that roll-ups equal the ledger; free ones count with their log row.
  if (charge === null ? isNew : isCharged) totals.add(row);
}

/** Wallet debits and roll-ups of one batch. */
class BatchTotals {
  readonly #daily = new DailyRollup();
  readonly #hourly = new HourlyRollup();
  readonly #debits = new WalletDebits();

  debit({ record, nanos }: IngestRow, { currency }: ChargeRecord): void {
    this.#debits.add(record.workspaceId, currency, nanos);
  }

  add({ record, shape, nanos }: IngestRow): void {
    this.#daily.add(record, nanos);
    this.#hourly.add(record, shape, nanos);
  }

  subtract({ record, shape }: Pick<IngestRow, "record" | "shape">): void {
    this.#daily.subtract(record);
    this.#hourly.subtract(record, shape);
  }

  writeTo(statements: IngestStatements): void {
    for (const { workspaceId, currency, nanos } of this.#debits.rows())
      statements.wallet(workspaceId, currency, -nanos);
    for (const row of this.#daily.rows()) statements.daily(row);
    for (const row of this.#hourly.rows()) statements.hourly(row);
  }
}

const usageValues = (row: UsageSums) => USAGE_COLUMNS.map((column) => row[USAGE_FIELDS[column]]);

function requestValues({ record, shape, text }: IngestRow) {
  return [record.id, record.workspaceId, Math.trunc(record.createdAtMs), text, shape];
}

function chargeValues({ record, nanos }: IngestRow, { currency, price, rate, margin }: ChargeRecord) {
  const detail = JSON.stringify({ price, rate, margin });
  return [record.workspaceId, Math.trunc(record.createdAtMs), chargeIdOf(record.id), currency, nanos, detail];
}

function prepareStatements(db: DatabaseSync) {
  const request = db.prepare(insertUnlessStored(REQUEST_ROW));
  const newRequests = new BulkInsert(db, REQUEST_ROW, ROWS_PER_SLICE);
  const removeRequest = db.prepare(REMOVE_REQUEST);
  const shape = db.prepare(ADD_SHAPE);
  const charge = db.prepare(insertUnlessStored(CHARGE_ROW));
  const newCharges = new BulkInsert(db, CHARGE_ROW, ROWS_PER_SLICE);
  const wallet = db.prepare(MOVE_WALLET);
  const idempotencyUse = db.prepare(ADD_IDEMPOTENCY_USE);
  const daily = db.prepare(ADD_DAILY);
  const hourly = db.prepare(ADD_HOURLY);
  return {
    shape(workspaceId: string, id: number, parts: RequestShape): void {
      const { keyId, memberId, environment, app, modelRequested, model, provider, status, surface } = parts;
      const values = [keyId, memberId, environment, app, modelRequested, model, provider, status, surface];
      shape.run(
        workspaceId,
        id,
        ...values,
        parts.level,
        parts.country,
        parts.endpoint,
        parts.errorCode,
        parts.router,
        parts.dataClasses,
        parts.dataAction,
      );
    },
    newRequest(row: IngestRow): void {
      newRequests.add(...requestValues(row));
    },
    newCharge(row: IngestRow, pending: ChargeRecord): void {
      newCharges.add(...chargeValues(row, pending));
    },
    /** Writes the buffered new rows. */
    flush(): void {
      newRequests.flush();
      newCharges.flush();
    },
    discard(): void {
      newRequests.discard();
      newCharges.discard();
    },
    /** False when the row exists already. */
    request(row: IngestRow): boolean {
      return request.run(...requestValues(row)).changes !== 0;
    },
    charge(row: IngestRow, pending: ChargeRecord): boolean {
      return charge.run(...chargeValues(row, pending)).changes !== 0;
    },
    /** The request was stored as free and its charge has arrived: returns the replaced row. */
    replaceFreeRow(row: IngestRow): Pick<IngestRow, "record" | "shape"> {
      const removed = removeRequest.get(row.record.id);
      this.request(row);
      return { record: parseIngestFields(Buffer.from(String(removed?.["record"]))), shape: Number(removed?.["shape"]) };
    },
    wallet(workspaceId: string, currency: string, nanos: bigint): void {
      const { changes } = wallet.run(workspaceId, currency, nanos);
      if (changes === 0) throw new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
    },
    idempotencyUse(record: IngestFields, use: NonNullable<IngestFields["idempotency"]>, nanos: bigint): void {
      const { id, workspaceId, status, charge } = record;
      const untilMs = Math.trunc(use.untilMs);
      idempotencyUse.run(use.key, use.body, workspaceId, id, status, nanos, charge?.currency ?? "", untilMs);
    },
    daily(row: DailyUsage): void {
      const { workspaceId, day, keyId, model, provider, environment } = row;
      daily.run(workspaceId, day, keyId, model, provider, environment, ...usageValues(row));
    },
    hourly(row: HourlyUsage): void {
      hourly.run(row.workspaceId, row.hourMs, row.shape, ...usageValues(row), encodeSketches(row.sketches));
    },
  };
}

/** Buffers new rows and writes many per statement, because a statement costs as much as a row. A duplicate rolls back. */
class BulkInsert {
  readonly #one: StatementSync;
  readonly #many: StatementSync;
  readonly #columns: number;
  readonly #rowsPerStatement: number;
  #values: SQLInputValue[] = [];

  constructor(db: DatabaseSync, row: RowTemplate, rowsPerStatement: number) {
    this.#one = db.prepare(insertNewRows(row, 1));
    this.#many = db.prepare(insertNewRows(row, rowsPerStatement));
    this.#columns = row.values.split("?").length - 1;
    this.#rowsPerStatement = rowsPerStatement;
  }

  /** One value per placeholder of the row. */
  add(...values: SQLInputValue[]): void {
    this.#values.push(...values);
    if (this.#values.length < this.#columns * this.#rowsPerStatement) return;
    this.#many.run(...this.#values);
    this.#values = [];
  }

  flush(): void {
    const values = this.#values;
    this.#values = [];
    for (let at = 0; at < values.length; at += this.#columns) this.#one.run(...values.slice(at, at + this.#columns));
  }

  /** After a rollback, so that buffered rows do not leak into the next transaction. */
  discard(): void {
    this.#values = [];
  }
}

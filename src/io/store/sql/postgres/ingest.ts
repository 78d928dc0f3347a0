import type { Pool } from "pg";
import { chargedNanosOf, chargeIdOf } from "../../../../domain/billing/charge.ts";
import { CHARGE } from "../../../../domain/billing/ledger.ts";
import type { IngestFields, RequestShape } from "../../../../domain/record/ingest-fields.ts";
import { decodeBatch, encodeBatch, type RecordBatch } from "../../../../domain/record/record-batch.ts";
import { parseIngestFields } from "../../../../domain/record/record-text.ts";
import { ShapeIds } from "../../../../domain/record/request-shape.ts";
import { DailyRollup, HourlyRollup, type WalletDebit, WalletDebits } from "../../../../domain/record/rollup.ts";
import type { DailyUsage, HourlyUsage, UsageSums } from "../../../../domain/record/usage-sums.ts";
import { encodeSketches, mergeColumns } from "../../../../kit/quantile-sketch.ts";
import { StoreError } from "../store-error.ts";
import { USAGE_COLUMNS, USAGE_FIELDS } from "../usage-columns.ts";
import { PooledConnection } from "./connection.ts";
import type { DatabaseHealthProbe } from "./health-probe.ts";
import { hasOnlyValidEscapes, replaceInvalidEscapes } from "./values.ts";

type PostingRecord = IngestFields & { readonly nanos: bigint; readonly start: number; readonly length: number };
type ShapedRecord<Of = PostingRecord> = { readonly record: Of; readonly shape: number };
type ShapeRow = RequestShape & { readonly workspaceId: string; readonly number: number };

/** A deadlock aborts one transaction and lets the others continue, so few attempts suffice. */
const ATTEMPTS_MAX = 5;

/**
 * Writes log row, ledger transaction, wallet and roll-ups of finished requests in one transaction. Ingest is idempotent: a
 * request counts once, and its charge moves money once. A row that was stored as free is replaced when its charge arrives.
 * Each table is written by one statement per batch, and tables always in the same order.
 */
export function ingestInto(pool: Pool, healthProbe?: DatabaseHealthProbe): (batch: RecordBatch) => Promise<void> {
  const shapes = new ShapeIds();
  const attempt = async ({ bytes, records }: ReturnType<typeof parseBatch>) => {
    const session = await PooledConnection.acquire(pool, healthProbe);
    try {
      await session.begin();
      await write(session, bytes, records, shapes);
      await session.commit();
    } catch (error) {
      shapes.clear();
      await session.rollback();
      throw error;
    } finally {
      session.release();
    }
  };
  return async (batch) => {
    const read = parseBatch(batch);
    for (let attemptNumber = 1; ; attemptNumber += 1)
      try {
        await attempt(read);
        return;
      } catch (error) {
        if (!(error instanceof StoreError) || error.reason !== "serialization_failure" || attemptNumber >= ATTEMPTS_MAX)
          throw error;
      }
  };
}

async function write(
  session: PooledConnection,
  bytes: Buffer,
  records: readonly PostingRecord[],
  shapes: ShapeIds,
): Promise<void> {
  const daily = new DailyRollup();
  const hourly = new HourlyRollup();
  const newShapes: ShapeRow[] = [];
  const shapeIds = records.map((record) =>
    shapes.idOf(record, (number, shape) => newShapes.push({ ...shape, number, workspaceId: record.workspaceId })),
  );
  await insertRows(session, ADD_SHAPES, SHAPE_COLUMNS, newShapes);
  await insertRows(
    session,
    ADD_IDEMPOTENCY_USES,
    [...IDEMPOTENCY_KEYS, ...IDEMPOTENCY_VALUES],
    idempotencyUses(records),
  );
  const addedRequests = await addRequests(session, bytes, records, shapeIds);
  const debits = new WalletDebits();
  const addedCharges = await addCharges(
    session,
    records.filter(({ nanos }) => nanos > 0n),
  );
  const replacements: ShapedRecord[] = [];
  for (const [at, record] of records.entries()) {
    const shape = shapeIds[at] ?? 0;
    const isNew = addedRequests.delete(record.id);
    const isCharged = record.nanos > 0n && addedCharges.delete(chargeKeyOf(record));
    if (isCharged) debits.add(record.workspaceId, record.charge?.currency ?? "", record.nanos);
    if (isCharged && !isNew) replacements.push({ record, shape });
    // Charged requests count with their charge, so that roll-ups equal the ledger; free ones count with their log row.
    if (record.nanos > 0n ? !isCharged : !isNew) continue;
    daily.add(record, record.nanos);
    hourly.add(record, shape, record.nanos);
  }
  for (const free of await replaceFreeRows(session, bytes, replacements)) {
    daily.subtract(free.record);
    hourly.subtract(free.record, free.shape);
  }
  await applyToWallets(session, debits.rows());
  await insertRows(session, ADD_DAILY, [...DAILY_KEYS, ...SUMS], [...daily.rows()]);
  await addHourly(session, [...hourly.rows()]);
}

/** The upsert locks its rows until the commit, so no other batch changes their sketches between the two statements. */
async function addHourly(session: PooledConnection, rows: readonly HourlyUsage[]): Promise<void> {
  const stored = new Map<string, Uint8Array>();
  const keyOf = (hourMs: number | bigint, shape: number | bigint, workspaceId: string) =>
    `${hourMs} ${shape} ${workspaceId}`;
  for (const row of await insertRows<HourlyUsage, StoredSketches>(
    session,
    `${ADD_HOURLY} returning workspace_id, hour_ms, shape, sketches`,
    [...HOURLY_KEYS, ...SUMS],
    rows,
  ))
    if (row.sketches !== null) stored.set(keyOf(row.hour_ms, row.shape, row.workspace_id), row.sketches);
  const merge = (row: HourlyUsage) =>
    mergeColumns(stored.get(keyOf(row.hourMs, row.shape, row.workspaceId)) ?? null, encodeSketches(row.sketches));
  const changed = rows.filter(({ sketches }) => sketches.some(({ size }) => size > 0));
  await insertRows(session, SET_SKETCHES, [...HOURLY_KEYS, ["sketches", "bytea", merge]], changed);
}

type StoredSketches = { workspace_id: string; hour_ms: bigint; shape: bigint; sketches: Uint8Array | null };

const SET_SKETCHES = `
  update requests_hourly set sketches = batch.sketches
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::bytea[]) as batch (workspace_id, hour_ms, shape, sketches)
  where requests_hourly.workspace_id = batch.workspace_id and requests_hourly.hour_ms = batch.hour_ms
    and requests_hourly.shape = batch.shape`;

/** Unparsable records are rejected before the first statement. */
function parseBatch(batch: RecordBatch): { readonly bytes: Buffer; readonly records: readonly PostingRecord[] } {
  const received = bytesOf(batch);
  const records: PostingRecord[] = [];
  try {
    const { bounds, from, bytes } = hasOnlyValidEscapes(received.bytes)
      ? received
      : bytesOf(encodeBatch(decodeBatch(batch).map(replaceInvalidEscapes)));
    for (let at = 0; at < bounds.length; at += 2) {
      const start = (bounds[at] ?? 0) - from;
      const end = (bounds[at + 1] ?? 0) - from;
      const record = parseIngestFields(bytes.subarray(start, end));
      records.push({ ...record, nanos: chargedNanosOf(record), start, length: end - start });
    }
    return { bytes, records };
  } catch (error) {
    throw new StoreError("rejected", error instanceof Error ? error.message : String(error));
  }
}

/** Only the used range: a batch may be a small part of a large buffer. */
function bytesOf({ bytes, bounds }: RecordBatch) {
  const [from, to] = [bounds[0] ?? 0, bounds.at(-1) ?? 0];
  return { bounds, from, bytes: Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from) };
}

/** The batch is sent as one bytea, and the server extracts the records. Of two records with one id the first is written. */
const ADD_REQUESTS = `
  insert into request_records (id, workspace_id, created_at_ms, record, shape)
  select id, workspace_id, created_at_ms, convert_from(substring($1::bytea from start for length), 'UTF8'), shape
  from unnest($2::text[], $3::text[], $4::bigint[], $5::integer[], $6::integer[], $7::bigint[])
    as batch (id, workspace_id, created_at_ms, start, length, shape)
  order by id, start
  on conflict do nothing returning id`;

/** Returns the ids of new rows. */
async function addRequests(
  session: PooledConnection,
  bytes: Buffer,
  records: readonly PostingRecord[],
  shapes: readonly number[],
): Promise<Set<string>> {
  const { rows } = await session.query<{ id: string }>(ADD_REQUESTS, [
    bytes,
    records.map(({ id }) => id),
    records.map(({ workspaceId }) => workspaceId),
    records.map(({ createdAtMs }) => Math.trunc(createdAtMs)),
    records.map(({ start }) => start + 1),
    records.map(({ length }) => length),
    shapes,
  ]);
  return new Set(rows.map(({ id }) => id));
}

const REMOVE_REQUESTS = `
  delete from request_records where id = any($1::text[]) and created_at_ms = any($2::bigint[]) returning record, shape`;

/** The requests were stored as free and their charges have arrived: returns the replaced rows. */
async function replaceFreeRows(
  session: PooledConnection,
  bytes: Buffer,
  replacements: readonly ShapedRecord[],
): Promise<ShapedRecord<IngestFields>[]> {
  if (replacements.length === 0) return [];
  const records = replacements.map(({ record }) => record);
  const { rows } = await session.query<{ record: string; shape: bigint }>(REMOVE_REQUESTS, [
    records.map(({ id }) => id),
    records.map(({ createdAtMs }) => Math.trunc(createdAtMs)),
  ]);
  const shapes = replacements.map(({ shape }) => shape);
  await addRequests(session, bytes, records, shapes);
  return rows.map(({ record, shape }) => ({ record: parseIngestFields(Buffer.from(record)), shape: Number(shape) }));
}

/** A transfer has one amount, so it cannot be out of balance. Values that every charge shares are part of the statement. */
const ADD_CHARGES = `
  insert into ledger_transactions
    (workspace_id, created_at_ms, id, kind, from_account, to_account, currency, moved_nanos, detail)
  select workspace_id, created_at_ms, id, 'charge', '${CHARGE.from}', '${CHARGE.to}', currency, moved_nanos, detail
  from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    as batch (workspace_id, created_at_ms, id, currency, moved_nanos, detail)
  order by workspace_id, created_at_ms, id
  on conflict do nothing returning workspace_id, created_at_ms, id`;

const chargeKey = (workspaceId: string, createdAtMs: number | bigint, id: string) =>
  `${workspaceId} ${createdAtMs} ${id}`;
const chargeKeyOf = ({ workspaceId, createdAtMs, id }: IngestFields) =>
  chargeKey(workspaceId, Math.trunc(createdAtMs), chargeIdOf(id));

/** Returns the keys of new rows. */
async function addCharges(session: PooledConnection, charged: readonly PostingRecord[]): Promise<Set<string>> {
  if (charged.length === 0) return new Set();
  const { rows } = await session.query<{ workspace_id: string; created_at_ms: bigint; id: string }>(ADD_CHARGES, [
    charged.map(({ workspaceId }) => workspaceId),
    charged.map(({ createdAtMs }) => Math.trunc(createdAtMs)),
    charged.map(({ id }) => chargeIdOf(id)),
    charged.map(({ charge }) => charge?.currency ?? null),
    charged.map(({ nanos }) => nanos),
    charged.map(({ charge }) => JSON.stringify({ price: charge?.price, rate: charge?.rate, margin: charge?.margin })),
  ]);
  return new Set(rows.map((row) => chargeKey(row.workspace_id, row.created_at_ms, row.id)));
}

/** Ordered by key, so that two batches cannot deadlock. */
const UPDATE_WALLETS = `
  insert into wallets (workspace_id, currency, balance_nanos)
  select workspace_id, currency, -nanos from unnest($1::text[], $2::text[], $3::bigint[])
    as batch (workspace_id, currency, nanos)
  order by workspace_id
  on conflict (workspace_id) do update set balance_nanos = wallets.balance_nanos + excluded.balance_nanos
  where wallets.currency = excluded.currency
  returning workspace_id`;

async function applyToWallets(session: PooledConnection, sums: readonly WalletDebit[]): Promise<void> {
  if (sums.length === 0) return;
  const duplicate = sums.find(({ workspaceId }, at) => sums[at - 1]?.workspaceId === workspaceId);
  if (duplicate !== undefined) throw walletCurrencyError(duplicate);
  const { rows } = await session.query<{ workspace_id: string }>(UPDATE_WALLETS, [
    sums.map(({ workspaceId }) => workspaceId),
    sums.map(({ currency }) => currency),
    sums.map(({ nanos }) => nanos),
  ]);
  const moved = new Set(rows.map((row) => row.workspace_id));
  const refused = sums.find(({ workspaceId }) => !moved.has(workspaceId));
  if (refused !== undefined) throw walletCurrencyError(refused);
}

function walletCurrencyError({ workspaceId, currency }: WalletDebit): StoreError {
  return new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
}

type BatchColumn<Row> = readonly [
  name: string,
  type: "text" | "bigint" | "bytea",
  read: (row: Row) => string | number | bigint | Uint8Array | null,
];

const SHAPE_COLUMNS: readonly BatchColumn<ShapeRow>[] = [
  ["workspace_id", "text", (shape) => shape.workspaceId],
  ["id", "bigint", (shape) => shape.number],
  ["key_id", "text", (shape) => shape.keyId],
  ["member_id", "text", (shape) => shape.memberId],
  ["environment", "text", (shape) => shape.environment],
  ["app", "text", (shape) => shape.app],
  ["model_requested", "text", (shape) => shape.modelRequested],
  ["model", "text", (shape) => shape.model],
  ["provider", "text", (shape) => shape.provider],
  ["status", "bigint", (shape) => shape.status],
  ["surface", "text", (shape) => shape.surface],
  ["level", "text", (shape) => shape.level],
  ["country", "text", (shape) => shape.country],
  ["endpoint", "text", (shape) => shape.endpoint],
  ["error_code", "text", (shape) => shape.errorCode],
  ["router", "text", (shape) => shape.router],
  ["data_classes", "text", (shape) => shape.dataClasses],
  ["data_action", "text", (shape) => shape.dataAction],
];
const DAILY_KEYS: readonly BatchColumn<DailyUsage>[] = [
  ["workspace_id", "text", (row) => row.workspaceId],
  ["day", "text", (row) => row.day],
  ["key_id", "text", (row) => row.keyId],
  ["model", "text", (row) => row.model],
  ["provider", "text", (row) => row.provider],
  ["environment", "text", (row) => row.environment],
];
const HOURLY_KEYS: readonly BatchColumn<HourlyUsage>[] = [
  ["workspace_id", "text", (row) => row.workspaceId],
  ["hour_ms", "bigint", (row) => row.hourMs],
  ["shape", "bigint", (row) => row.shape],
];
const SUMS: readonly BatchColumn<UsageSums>[] = USAGE_COLUMNS.map((column) => [
  column,
  "bigint",
  (row) => row[USAGE_FIELDS[column]],
]);

type IdempotencyUse = PostingRecord & { readonly idempotency: NonNullable<PostingRecord["idempotency"]> };

const IDEMPOTENCY_KEYS: readonly BatchColumn<IdempotencyUse>[] = [["key_digest", "text", (use) => use.idempotency.key]];
const IDEMPOTENCY_VALUES: readonly BatchColumn<IdempotencyUse>[] = [
  ["body_digest", "text", (use) => use.idempotency.body],
  ["workspace_id", "text", (use) => use.workspaceId],
  ["request_id", "text", (use) => use.id],
  ["status", "bigint", (use) => use.status],
  ["charged_nanos", "bigint", (use) => use.nanos],
  ["currency", "text", (use) => use.charge?.currency ?? ""],
  ["expires_at_ms", "bigint", (use) => Math.trunc(use.idempotency.untilMs)],
];

/** One use per key, the one that expires last, because an upsert may touch a row only once. */
function idempotencyUses(records: readonly PostingRecord[]): IdempotencyUse[] {
  const uses = new Map<string, IdempotencyUse>();
  for (const record of records) {
    const { idempotency } = record;
    if (idempotency === undefined || record.nanos === 0n) continue;
    const known = uses.get(idempotency.key);
    if (known === undefined || known.idempotency.untilMs < idempotency.untilMs)
      uses.set(idempotency.key, { ...record, idempotency });
  }
  return [...uses.values()];
}

type NamedColumn = readonly [name: string, type: string, ...unknown[]];
const namesOf = (columns: readonly NamedColumn[]) => columns.map(([name]) => name).join(", ");

/** Inserts all rows of a batch, ordered by key, so that two batches cannot deadlock. */
function insertSql(table: string, keys: readonly NamedColumn[], values: readonly NamedColumn[]): string {
  const columns = [...keys, ...values];
  return `
    insert into ${table} (${namesOf(columns)})
    select * from unnest(${columns.map(([, type], at) => `$${at + 1}::${type}[]`).join(", ")})
      as batch (${namesOf(columns)})
    order by ${namesOf(keys)}`;
}

function accumulateSql(table: string, keys: readonly NamedColumn[]): string {
  return `${insertSql(table, keys, SUMS)}
    on conflict (${namesOf(keys)}) do update
    set ${SUMS.map(([sum]) => `${sum} = ${table}.${sum} + excluded.${sum}`).join(", ")}`;
}

const ADD_SHAPES = `${insertSql("request_shapes", SHAPE_COLUMNS, [])} on conflict do nothing`;
/** An expired key may still be stored and is overwritten; a record that is sent again changes nothing. */
const ADD_IDEMPOTENCY_USES = `${insertSql("idempotency_keys", IDEMPOTENCY_KEYS, IDEMPOTENCY_VALUES)}
  on conflict (key_digest) do update
  set ${IDEMPOTENCY_VALUES.map(([name]) => `${name} = excluded.${name}`).join(", ")}
  where excluded.expires_at_ms > idempotency_keys.expires_at_ms`;
const ADD_DAILY = accumulateSql("requests_daily", DAILY_KEYS);
const ADD_HOURLY = accumulateSql("requests_hourly", HOURLY_KEYS);

async function insertRows<Row, Returned extends object = never>(
  session: PooledConnection,
  statement: string,
  columns: readonly BatchColumn<Row>[],
  rows: readonly Row[],
): Promise<readonly Returned[]> {
  if (rows.length === 0) return [];
  const values = columns.map(([, , read]) => rows.map(read));
  return (await session.query<Returned>(statement, values)).rows;
}

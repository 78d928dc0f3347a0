import type { Pool } from "pg";
import { CHARGE, chargedNanosOf, chargeIdOf } from "../../../../domain/billing/ledger.ts";
import { type BookedFields, readBooked } from "../../../../domain/record/booked.ts";
import { batchOf, type RecordBatch, textsOf } from "../../../../domain/record/ingest.ts";
import { DailyFold, type DailyUsage } from "../../../../domain/record/rollup.ts";
import { StoreError } from "../store-error.ts";
import { type WalletSum, WalletSums } from "../wallet-sums.ts";
import { PooledConnection } from "./connection.ts";
import { isReadableJson, readableJson } from "./values.ts";

type Booked = BookedFields & { readonly nanos: bigint; readonly start: number; readonly length: number };

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once.
 * Each table is written by one statement, whatever the size of the batch.
 */
export function ingestInto(pool: Pool): (batch: RecordBatch) => Promise<void> {
  return async (batch) => {
    const { bytes, records } = readBatch(batch);
    const session = await PooledConnection.take(pool);
    try {
      await session.begin();
      await write(session, bytes, records);
      await session.commit();
    } catch (error) {
      await session.rollback();
      throw error;
    } finally {
      session.release();
    }
  };
}

async function write(session: PooledConnection, bytes: Buffer, records: readonly Booked[]): Promise<void> {
  const daily = new DailyFold();
  const addedRequests = await addRequests(session, bytes, records);
  for (const record of records) if (addedRequests.delete(record.id)) daily.add(record, record.nanos);
  const spent = new WalletSums();
  const charged = records.filter(({ nanos }) => nanos > 0n);
  const addedCharges = await addCharges(session, charged);
  for (const record of charged)
    if (addedCharges.delete(chargeKeyOf(record)))
      spent.add(record.workspaceId, record.charge?.currency ?? "", record.nanos);
  await moveWallets(session, spent.rows());
  await addDaily(session, [...daily.rows()]);
}

/** The records, and the bytes they are in. What no engine could take is refused before the first statement. */
function readBatch(batch: RecordBatch): { readonly bytes: Buffer; readonly records: readonly Booked[] } {
  const sent = bytesOf(batch);
  const { bounds, from, bytes } = isReadableJson(sent.bytes)
    ? sent
    : bytesOf(batchOf(textsOf(batch).map(readableJson)));
  const records: Booked[] = [];
  try {
    for (let at = 0; at < bounds.length; at += 2) {
      const start = (bounds[at] ?? 0) - from;
      const end = (bounds[at + 1] ?? 0) - from;
      const record = readBooked(bytes.subarray(start, end));
      records.push({ ...record, nanos: chargedNanosOf(record), start, length: end - start });
    }
  } catch (error) {
    throw new StoreError("rejected", error instanceof Error ? error.message : String(error));
  }
  return { bytes, records };
}

/** Only what the records are in: a batch may be a small part of a large piece of memory. */
function bytesOf({ bytes, bounds }: RecordBatch) {
  const [from, to] = [bounds[0] ?? 0, bounds.at(-1) ?? 0];
  return { bounds, from, bytes: Buffer.from(bytes.buffer, bytes.byteOffset + from, to - from) };
}

/** The bytes go over as they are, and the server cuts the records out of them. */
const ADD_REQUESTS = `
  insert into request_records (id, workspace_id, created_at_ms, record)
  select id, workspace_id, created_at_ms, convert_from(substring($1::bytea from start for length), 'UTF8')
  from unnest($2::text[], $3::text[], $4::bigint[], $5::integer[], $6::integer[])
    as batch (id, workspace_id, created_at_ms, start, length)
  on conflict do nothing returning id`;

/** The ids of those that were not there. */
async function addRequests(session: PooledConnection, bytes: Buffer, records: readonly Booked[]): Promise<Set<string>> {
  const { rows } = await session.ask<{ id: string }>(ADD_REQUESTS, [
    bytes,
    records.map(({ id }) => id),
    records.map(({ workspaceId }) => workspaceId),
    records.map(({ createdAtMs }) => Math.trunc(createdAtMs)),
    records.map(({ start }) => start + 1),
    records.map(({ length }) => length),
  ]);
  return new Set(rows.map(({ id }) => id));
}

/** No transfer can be out of balance; what is the same for every charge is a part of the statement. */
const ADD_CHARGES = `
  insert into ledger_transactions
    (workspace_id, created_at_ms, id, kind, from_account, to_account, currency, moved_nanos, detail)
  select workspace_id, created_at_ms, id, 'charge', '${CHARGE.from}', '${CHARGE.to}', currency, moved_nanos, detail
  from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::bigint[], $6::text[])
    as batch (workspace_id, created_at_ms, id, currency, moved_nanos, detail)
  on conflict do nothing returning workspace_id, created_at_ms, id`;

const keyOf = (workspaceId: string, createdAtMs: number | bigint, id: string) => `${workspaceId} ${createdAtMs} ${id}`;
const chargeKeyOf = ({ workspaceId, createdAtMs, id }: BookedFields) =>
  keyOf(workspaceId, Math.trunc(createdAtMs), chargeIdOf(id));

/** The keys of those that were not there. */
async function addCharges(session: PooledConnection, charged: readonly Booked[]): Promise<Set<string>> {
  if (charged.length === 0) return new Set();
  const { rows } = await session.ask<{ workspace_id: string; created_at_ms: bigint; id: string }>(ADD_CHARGES, [
    charged.map(({ workspaceId }) => workspaceId),
    charged.map(({ createdAtMs }) => Math.trunc(createdAtMs)),
    charged.map(({ id }) => chargeIdOf(id)),
    charged.map(({ charge }) => charge?.currency ?? null),
    charged.map(({ nanos }) => nanos),
    charged.map(({ charge }) => JSON.stringify({ price: charge?.price, rate: charge?.rate })),
  ]);
  return new Set(rows.map((row) => keyOf(row.workspace_id, row.created_at_ms, row.id)));
}

/** In one order everywhere, so that two batches never wait for each other. */
const MOVE_WALLETS = `
  insert into wallets (workspace_id, currency, balance_nanos)
  select workspace_id, currency, -nanos from unnest($1::text[], $2::text[], $3::bigint[])
    as batch (workspace_id, currency, nanos)
  order by workspace_id
  on conflict (workspace_id) do update set balance_nanos = wallets.balance_nanos + excluded.balance_nanos
  where wallets.currency = excluded.currency
  returning workspace_id`;

async function moveWallets(session: PooledConnection, sums: readonly WalletSum[]): Promise<void> {
  if (sums.length === 0) return;
  const twice = sums.find(({ workspaceId }, at) => sums[at - 1]?.workspaceId === workspaceId);
  if (twice !== undefined) throw notIn(twice);
  const { rows } = await session.ask<{ workspace_id: string }>(MOVE_WALLETS, [
    sums.map(({ workspaceId }) => workspaceId),
    sums.map(({ currency }) => currency),
    sums.map(({ nanos }) => nanos),
  ]);
  const moved = new Set(rows.map((row) => row.workspace_id));
  const refused = sums.find(({ workspaceId }) => !moved.has(workspaceId));
  if (refused !== undefined) throw notIn(refused);
}

function notIn({ workspaceId, currency }: WalletSum): StoreError {
  return new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
}

type DailyColumn = readonly [name: string, read: (row: DailyUsage) => string | number | bigint];

const DAILY_KEYS: readonly DailyColumn[] = [
  ["workspace_id", (row) => row.workspaceId],
  ["day", (row) => row.day],
  ["key_id", (row) => row.keyId],
  ["model", (row) => row.model],
  ["provider", (row) => row.provider],
  ["environment", (row) => row.environment],
];
const DAILY_SUMS: readonly DailyColumn[] = [
  ["requests", (row) => row.requests],
  ["errors", (row) => row.errors],
  ["input_tokens", (row) => row.inputTokens],
  ["cached_tokens", (row) => row.cachedTokens],
  ["cache_write_tokens", (row) => row.cacheWriteTokens],
  ["output_tokens", (row) => row.outputTokens],
  ["reasoning_tokens", (row) => row.reasoningTokens],
  ["characters", (row) => row.characters],
  ["audio_ms", (row) => row.audioMs],
  ["cost_nanos", (row) => row.costNanos],
];

const namesOf = (columns: readonly DailyColumn[]) => columns.map(([name]) => name).join(", ");
const arraysOf = (columns: readonly DailyColumn[], type: string, after: number) =>
  columns.map((_, at) => `$${after + at + 1}::${type}[]`).join(", ");

const ADD_DAILY = `
  insert into requests_daily (${namesOf(DAILY_KEYS)}, ${namesOf(DAILY_SUMS)})
  select * from unnest(${arraysOf(DAILY_KEYS, "text", 0)}, ${arraysOf(DAILY_SUMS, "bigint", DAILY_KEYS.length)})
    as batch (${namesOf(DAILY_KEYS)}, ${namesOf(DAILY_SUMS)})
  order by ${namesOf(DAILY_KEYS)}
  on conflict (${namesOf(DAILY_KEYS)}) do update
  set ${DAILY_SUMS.map(([sum]) => `${sum} = requests_daily.${sum} + excluded.${sum}`).join(", ")}`;

async function addDaily(session: PooledConnection, rows: readonly DailyUsage[]): Promise<void> {
  if (rows.length > 0)
    await session.ask(
      ADD_DAILY,
      [...DAILY_KEYS, ...DAILY_SUMS].map(([, read]) => rows.map(read)),
    );
}

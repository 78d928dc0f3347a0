import { type Kysely, sql, type Transaction } from "kysely";
import { CHARGE, chargedNanosOf, chargeIdOf } from "../../../../domain/billing/ledger.ts";
import { type BookedFields, readBooked } from "../../../../domain/record/booked.ts";
import { batchOf, type RecordBatch, textsOf } from "../../../../domain/record/ingest.ts";
import { DailyFold, type DailyUsage } from "../../../../domain/record/rollup.ts";
import type { Database } from "../schema.ts";
import { StoreError } from "../store-error.ts";
import { type WalletSum, WalletSums } from "../wallet-sums.ts";
import { isReadableJson, readableJson } from "./values.ts";

type Session = Transaction<Database>;
type Booked = BookedFields & { readonly nanos: bigint; readonly start: number; readonly length: number };

/**
 * Writes finished requests: row of the log, ledger transaction, wallet and roll-ups in one transaction. What is there
 * already changes nothing: a request counts in the roll-ups once, and its ledger transaction moves money once.
 * Each table is written by one statement, whatever the size of the batch.
 */
export function ingestInto(db: Kysely<Database>): (batch: RecordBatch) => Promise<void> {
  return async (batch) => {
    const { bytes, records } = readBatch(batch);
    await db.transaction().execute(async (session) => {
      const daily = new DailyFold();
      const addedRequests = await addRequests(session, bytes, records);
      for (const record of records) if (addedRequests.delete(record.id)) daily.add(record, record.nanos);
      const spent = new WalletSums();
      const charged = records.filter(({ nanos }) => nanos > 0n);
      const addedCharges = charged.length === 0 ? new Set<string>() : await addCharges(session, charged);
      for (const record of charged)
        if (addedCharges.delete(chargeKeyOf(record)))
          spent.add(record.workspaceId, record.charge?.currency ?? "", record.nanos);
      await moveWallets(session, spent.rows());
      await addDaily(session, [...daily.rows()]);
    });
  };
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

/** The ids of those that were not there. The bytes go over as they are, and the server cuts the records out of them. */
async function addRequests(session: Session, bytes: Buffer, records: readonly Booked[]): Promise<Set<string>> {
  const { rows } = await sql<{ id: string }>`
    insert into request_records (id, workspace_id, created_at_ms, record)
    select id, workspace_id, created_at_ms, convert_from(substring(${bytes}::bytea from start for length), 'UTF8')
    from unnest(
      ${records.map(({ id }) => id)}::text[], ${records.map(({ workspaceId }) => workspaceId)}::text[],
      ${records.map(({ createdAtMs }) => Math.trunc(createdAtMs))}::bigint[],
      ${records.map(({ start }) => start + 1)}::integer[], ${records.map(({ length }) => length)}::integer[]
    ) as batch (id, workspace_id, created_at_ms, start, length)
    on conflict do nothing returning id`.execute(session);
  return new Set(rows.map(({ id }) => id));
}

const keyOf = (workspaceId: string, createdAtMs: number, id: string) => `${workspaceId} ${createdAtMs} ${id}`;
const chargeKeyOf = ({ workspaceId, createdAtMs, id }: BookedFields) =>
  keyOf(workspaceId, Math.trunc(createdAtMs), chargeIdOf(id));

/** The keys of those that were not there. No transfer can be out of balance: what is the same for all is said once. */
async function addCharges(session: Session, charged: readonly Booked[]): Promise<Set<string>> {
  const detailOf = ({ charge }: Booked) => JSON.stringify({ price: charge?.price, rate: charge?.rate });
  const { rows } = await sql<{ workspace_id: string; created_at_ms: number; id: string }>`
    insert into ledger_transactions
      (workspace_id, created_at_ms, id, kind, from_account, to_account, currency, moved_nanos, detail)
    select workspace_id, created_at_ms, id, 'charge', ${sql.lit(CHARGE.from)}, ${sql.lit(CHARGE.to)}, currency,
      moved_nanos, detail
    from unnest(
      ${charged.map(({ workspaceId }) => workspaceId)}::text[],
      ${charged.map(({ createdAtMs }) => Math.trunc(createdAtMs))}::bigint[],
      ${charged.map(({ id }) => chargeIdOf(id))}::text[],
      ${charged.map(({ charge }) => charge?.currency ?? null)}::text[],
      ${charged.map(({ nanos }) => nanos)}::bigint[], ${charged.map(detailOf)}::text[]
    ) as batch (workspace_id, created_at_ms, id, currency, moved_nanos, detail)
    on conflict do nothing returning workspace_id, created_at_ms, id`.execute(session);
  return new Set(rows.map((row) => keyOf(row.workspace_id, row.created_at_ms, row.id)));
}

/** In one order everywhere, so that two batches never wait for each other. */
async function moveWallets(session: Session, sums: readonly WalletSum[]): Promise<void> {
  if (sums.length === 0) return;
  const twice = sums.find(({ workspaceId }, at) => sums[at - 1]?.workspaceId === workspaceId);
  if (twice !== undefined) throw notIn(twice);
  const { rows } = await sql<{ workspace_id: string }>`
    insert into wallets (workspace_id, currency, balance_nanos)
    select workspace_id, currency, -nanos from unnest(
      ${sums.map(({ workspaceId }) => workspaceId)}::text[], ${sums.map(({ currency }) => currency)}::text[],
      ${sums.map(({ nanos }) => nanos)}::bigint[]
    ) as batch (workspace_id, currency, nanos)
    order by workspace_id
    on conflict (workspace_id) do update set balance_nanos = wallets.balance_nanos + excluded.balance_nanos
    where wallets.currency = excluded.currency
    returning workspace_id`.execute(session);
  const moved = new Set(rows.map((row) => row.workspace_id));
  const refused = sums.find(({ workspaceId }) => !moved.has(workspaceId));
  if (refused !== undefined) throw notIn(refused);
}

function notIn({ workspaceId, currency }: WalletSum): StoreError {
  return new StoreError("rejected", `the wallet of ${workspaceId} is not in ${currency}`);
}

async function addDaily(session: Session, rows: readonly DailyUsage[]): Promise<void> {
  if (rows.length === 0) return;
  const values = rows.toSorted(inOrder).map((row) => ({
    workspace_id: row.workspaceId,
    day: row.day,
    key_id: row.keyId,
    model: row.model,
    provider: row.provider,
    environment: row.environment,
    requests: row.requests,
    errors: row.errors,
    input_tokens: row.inputTokens,
    cached_tokens: row.cachedTokens,
    cache_write_tokens: row.cacheWriteTokens,
    output_tokens: row.outputTokens,
    reasoning_tokens: row.reasoningTokens,
    characters: row.characters,
    audio_ms: row.audioMs,
    cost_nanos: row.costNanos,
  }));
  await session
    .insertInto("requests_daily")
    .values(values)
    .onConflict((conflict) =>
      conflict
        .columns(["workspace_id", "day", "key_id", "model", "provider", "environment"])
        .doUpdateSet(({ eb, ref }) =>
          Object.fromEntries(
            DAILY_SUMS.map((sum) => [sum, eb(ref(`requests_daily.${sum}`), "+", ref(`excluded.${sum}`))]),
          ),
        ),
    )
    .execute();
}

const DAILY_SUMS = [
  ...(["requests", "errors", "input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens"] as const),
  ...(["reasoning_tokens", "characters", "audio_ms", "cost_nanos"] as const),
];

function inOrder(a: DailyUsage, b: DailyUsage): number {
  const key = (row: DailyUsage) =>
    JSON.stringify([row.workspaceId, row.day, row.keyId, row.model, row.provider, row.environment]);
  return key(a) < key(b) ? -1 : 1;
}

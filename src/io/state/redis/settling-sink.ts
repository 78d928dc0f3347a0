import { z } from "zod";
import { chargedKeyUseOf } from "../../../domain/admission/idempotency.ts";
import { type RecordBatch, RecordRejectedError, type RecordSink } from "../../../domain/record/record-batch.ts";
import type { RedisIdempotencyClaims } from "./idempotency-claims.ts";
import type { ChargedRequestIds } from "./redis-state.ts";
import type { RedisWallets } from "./redis-wallets.ts";
import type { RetryQueue } from "./retry-queue.ts";
import type { UnsettledHold, UnsettledHolds } from "./unsettled-holds.ts";
import type { IngestOutcome, WalletGeneration } from "./wallet-generation.ts";

type SettlingSinkDeps = {
  readonly generation: WalletGeneration;
  readonly wallets: RedisWallets;
  readonly claims: RedisIdempotencyClaims;
  readonly unsettledHolds: UnsettledHolds;
  readonly retries: RetryQueue;
  readonly store: RecordSink;
  readonly chargedRequestIds: ChargedRequestIds;
};

/** The fields of a record that settlement needs. */
const SettledRecord = z.object({
  id: z.string(),
  workspaceId: z.string(),
  keyId: z.string(),
  memberId: z.string().nullable(),
  createdAtMs: z.number(),
  status: z.number(),
  charge: z.object({ nanos: z.string(), currency: z.string() }).nullish(),
  idempotency: z.object({ key: z.string(), body: z.string(), untilMs: z.number() }).optional(),
});
type SettledRecord = z.infer<typeof SettledRecord>;

/** Scripts that are sent concurrently. */
const BATCH = 100;
/** Records begin with their id, so most need not be parsed. */
const ID_START = '{"id":"';
const HEAD_BYTES = 100;

/**
 * Writes records to SQL and settles them in Redis. The journal may drop a record only when both have it, and no charge is
 * taken off a wallet twice:
 *
 * - A request of this incarnation has its hold in Redis, or its charge is marked there as paid. Settling it again changes
 *   nothing, and once SQL has it the mark is removed.
 * - A record of an earlier incarnation may have neither: its hold was swept, or lost with Redis. If SQL does not have its
 *   charge, the wallet was filled without it, and a hold is adopted before SQL gets it; if SQL has it, either a hold was
 *   adopted before, or the wallet was filled with it. Either way settling takes it off exactly once. The ledger decides
 *   whether SQL has a charge, because wallets are its sum: rows leave the log, and may precede their charge.
 */
export function createSettlingSink(deps: SettlingSinkDeps): RecordSink {
  return {
    async ingestBatch(batch) {
      const { generation, end } = await deps.generation.beginIngest();
      let outcome: IngestOutcome = "unsettled";
      try {
        outcome = await ingest(deps, batch, generation);
      } finally {
        await end(outcome);
      }
    },
  };
}

async function ingest(
  deps: SettlingSinkDeps,
  batch: RecordBatch,
  generation: string | undefined,
): Promise<IngestOutcome> {
  const { store, unsettledHolds } = deps;
  const charged: UnsettledHold[] = [];
  const others: SettledRecord[] = [];
  const { bounds } = batch;
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  for (let at = 0; at < bounds.length; at += 2) {
    const [begin = 0, end = 0] = [bounds[at], bounds[at + 1]];
    const hold = unsettledHolds.get(requestIdIn(bytes.toString("latin1", begin, Math.min(end, begin + HEAD_BYTES))));
    if (hold?.is === "charged" && hold.generation === generation) charged.push(hold);
    else others.push(SettledRecord.parse(JSON.parse(bytes.toString("utf8", begin, end))));
  }
  if (generation !== undefined) await adoptLost(deps, others, generation);
  await store.ingestBatch(batch).catch((error: unknown) => {
    // A record that SQL can never take stays charged, as in a gateway of one process.
    if (error instanceof RecordRejectedError && bounds.length === 2)
      for (const hold of charged) unsettledHolds.remove(hold);
    throw error;
  });
  const next = deps.generation.afterIngest(generation);
  if (next === "unknown")
    throw new Error("Redis became unavailable while records were written to SQL: they are sent again");
  if (next === "settle") await settleAll(deps, charged, others);
  for (const hold of charged) unsettledHolds.remove(hold);
  for (const { id } of others) {
    const hold = unsettledHolds.get(id);
    if (hold !== undefined) unsettledHolds.remove(hold);
  }
  return next === "settle" ? "settled" : "unsettled";
}

/** Adopts a hold for each charge that has none in Redis and is not in SQL. */
async function adoptLost(
  { chargedRequestIds, wallets, unsettledHolds }: SettlingSinkDeps,
  records: readonly SettledRecord[],
  generation: string,
): Promise<void> {
  const unknown = records.filter(
    ({ id, charge }) => nanosOf(charge) > 0n && unsettledHolds.get(id)?.generation !== generation,
  );
  if (unknown.length === 0) return;
  const inSql = await chargedRequestIds(unknown);
  const lost = unknown.filter(({ id }) => !inSql.has(id));
  await inBatches(lost, async ({ id: requestId, workspaceId, keyId, memberId, createdAtMs: atMs }) => {
    const hold = { requestId, workspaceId, keyId, memberId, nanos: 0n, atMs };
    if ((await wallets.adopt(hold, "a", generation)) === "opening") throw new Error("wallets are no longer open");
  });
}

async function settleAll(
  deps: SettlingSinkDeps,
  charged: readonly UnsettledHold[],
  others: readonly SettledRecord[],
): Promise<void> {
  const { wallets, claims, retries, generation, unsettledHolds } = deps;
  const paid = new Map<string, string[]>();
  const addPaid = (workspaceId: string, id: string) => {
    const ids = paid.get(workspaceId) ?? [];
    ids.push(id);
    paid.set(workspaceId, ids);
  };
  for (const { workspaceId, requestId } of charged) addPaid(workspaceId, requestId);
  // A free request of this incarnation has ended its hold itself.
  const unsettled = others.filter(
    ({ id, charge }) => nanosOf(charge) > 0n || !generation.isJournalReplayed || unsettledHolds.get(id),
  );
  await inBatches(unsettled, async ({ id: requestId, workspaceId, charge }) => {
    const end = await wallets.settleNow({ requestId, workspaceId }, nanosOf(charge));
    if (end === "opening") throw new Error("wallets are no longer open: records are sent again");
    if (end !== "none" && nanosOf(charge) > 0n) addPaid(workspaceId, requestId);
  });
  // An earlier incarnation may have crashed before it recorded the use.
  const uses = generation.isJournalReplayed ? [] : others.flatMap((record) => chargedKeyUseOf(record) ?? []);
  await inBatches(uses, (use) => claims.record(use));
  const ids = [...charged.map(({ requestId }) => requestId), ...others.map(({ id }) => id)];
  if (ids.some((id) => claims.isRecordQueued(id))) await retries.drain();
  await wallets.forgetPaid(paid);
}

async function inBatches<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < items.length; at += BATCH) await Promise.all(items.slice(at, at + BATCH).map(run));
}

function requestIdIn(recordStart: string): string {
  if (!recordStart.startsWith(ID_START)) return "";
  return recordStart.slice(ID_START.length, recordStart.indexOf('"', ID_START.length));
}

function nanosOf(charge: SettledRecord["charge"]): bigint {
  return BigInt(charge?.nanos ?? "0");
}

import { z } from "zod";
import { chargedKeyUseOf } from "../../../domain/admission/idempotency.ts";
import { type RecordBatch, RecordRejected, type RecordSink } from "../../../domain/record/record-batch.ts";
import type { RedisClaims } from "./idempotency-claims.ts";
import type { ChargedRequestIds } from "./redis-state.ts";
import type { RedisWallets } from "./redis-wallets.ts";
import type { Owed } from "./retry-queue.ts";
import type { Holding, Holdings } from "./unsettled-holds.ts";
import type { Epochs, Ingested } from "./wallet-generation.ts";

type Deps = {
  readonly epochs: Epochs;
  readonly wallets: RedisWallets;
  readonly claims: RedisClaims;
  readonly holdings: Holdings;
  readonly owed: Owed;
  readonly store: RecordSink;
  readonly booked: ChargedRequestIds;
};

/** What of a record the shared state wants to know. */
const Ended = z.object({
  id: z.string(),
  workspaceId: z.string(),
  keyId: z.string(),
  memberId: z.string().nullable(),
  createdAtMs: z.number(),
  status: z.number(),
  charge: z.object({ nanos: z.string(), currency: z.string() }).nullish(),
  idempotency: z.object({ key: z.string(), body: z.string(), untilMs: z.number() }).optional(),
});
type Ended = z.infer<typeof Ended>;

/** Steps that are sent at once. */
const ABREAST = 100;
/** Records begin with their ids, so most need not be read. */
const BEGINNING = '{"id":"';
const HEAD_BYTES = 100;

/**
 * Records on their way from the journal into SQL and into the shared state. One is forgotten by the journal only when
 * both have it, and no charge is taken off a wallet twice:
 *
 * - A request of this life of the instance has its hold in Redis, or what it came to is marked there as paid. Settling
 *   it again changes nothing, and once it is in SQL the mark goes.
 * - A record of an earlier life may have neither: its hold was swept long ago, or lost with Redis. If SQL does not have
 *   its charge, the wallet was filled without it and it is adopted before it goes into SQL; if SQL has it, either it was
 *   adopted before that, or the wallet was filled with it. In both cases settling it takes it off exactly once. The
 *   ledger is asked, which wallets are the sum of: rows leave the log, and one may be there before its charge.
 */
export function sharedSink(deps: Deps): RecordSink {
  return {
    async ingestBatch(batch) {
      const { token, leave } = await deps.epochs.ingest();
      let end: Ingested = "unsettled";
      try {
        end = await ingest(deps, batch, token);
      } finally {
        await leave(end);
      }
    },
  };
}

async function ingest(deps: Deps, batch: RecordBatch, token: string | undefined): Promise<Ingested> {
  const { store, epochs, holdings } = deps;
  const own: Holding[] = [];
  const others: Ended[] = [];
  const { bounds } = batch;
  const bytes = Buffer.from(batch.bytes.buffer, batch.bytes.byteOffset, batch.bytes.byteLength);
  for (let at = 0; at < bounds.length; at += 2) {
    const [begin = 0, end = 0] = [bounds[at], bounds[at + 1]];
    const holding = holdings.of(idOf(bytes.toString("latin1", begin, Math.min(end, begin + HEAD_BYTES))));
    // What Redis has already needs no second look.
    if (holding?.is === "charged" && holding.epoch === token) own.push(holding);
    else others.push(Ended.parse(JSON.parse(bytes.toString("utf8", begin, end))));
  }
  if (token !== undefined) await adoptLost(deps, others, token);
  await store.ingestBatch(batch).catch((error: unknown) => {
    // What SQL can never take stays charged here, as it is with a process that is alone.
    if (error instanceof RecordRejected && bounds.length === 2) for (const holding of own) holdings.forget(holding);
    throw error;
  });
  const next = epochs.after(token);
  if (next === "unknown") throw new Error("Redis went away while records went into SQL: they are sent again");
  if (next === "settle") await settleAll(deps, own, others);
  for (const holding of own) holdings.forget(holding);
  for (const { id } of others) {
    const holding = holdings.of(id);
    if (holding !== undefined) holdings.forget(holding);
  }
  return next === "settle" ? "settled" : "unsettled";
}

/** Charges that no hold in Redis waits for: see above. */
async function adoptLost({ booked, wallets, holdings }: Deps, others: readonly Ended[], token: string): Promise<void> {
  const strange = others.filter(({ id, charge }) => nanosOf(charge) > 0n && holdings.of(id)?.epoch !== token);
  if (strange.length === 0) return;
  const known = await booked(strange);
  const lost = strange.filter(({ id }) => !known.has(id));
  await abreast(lost, async ({ id: requestId, workspaceId, keyId, memberId, createdAtMs: atMs }) => {
    const hold = { requestId, workspaceId, keyId, memberId, nanos: 0n, atMs };
    if ((await wallets.adopt(hold, "a", token)) === "opening") throw new Error("the wallets are not open any more");
  });
}

async function settleAll(deps: Deps, own: readonly Holding[], others: readonly Ended[]): Promise<void> {
  const { wallets, claims, owed, epochs, holdings } = deps;
  const paid = new Map<string, string[]>();
  const inSql = (workspaceId: string, id: string) => {
    const ids = paid.get(workspaceId) ?? [];
    ids.push(id);
    paid.set(workspaceId, ids);
  };
  for (const { workspaceId, requestId } of own) inSql(workspaceId, requestId);
  // What cost nothing and is of this life has ended its hold itself.
  const ending = others.filter(({ id, charge }) => nanosOf(charge) > 0n || !epochs.isReplayed || holdings.of(id));
  await abreast(ending, async ({ id: requestId, workspaceId, charge }) => {
    const end = await wallets.settleNow({ requestId, workspaceId }, nanosOf(charge));
    if (end === "opening") throw new Error("the wallets are not open any more: records are sent again");
    if (end !== "none" && nanosOf(charge) > 0n) inSql(workspaceId, requestId);
  });
  // An earlier life may have died before it could tell.
  const uses = epochs.isReplayed ? [] : others.flatMap((record) => chargedKeyUseOf(record) ?? []);
  await abreast(uses, (use) => claims.remember(use));
  if ([...own.map(({ requestId }) => requestId), ...others.map(({ id }) => id)].some((id) => owed.has(`use ${id}`)))
    await owed.settle();
  for (const [workspaceId, ids] of paid) await wallets.booked(workspaceId, ids);
}

async function abreast<T>(all: readonly T[], step: (one: T) => Promise<void>): Promise<void> {
  for (let at = 0; at < all.length; at += ABREAST) await Promise.all(all.slice(at, at + ABREAST).map(step));
}

function idOf(text: string): string {
  if (!text.startsWith(BEGINNING)) return "";
  return text.slice(BEGINNING.length, text.indexOf('"', BEGINNING.length));
}

function nanosOf(charge: Ended["charge"]): bigint {
  return BigInt(charge?.nanos ?? "0");
}

import { isDeepStrictEqual } from "node:util";
import { expiryOf, type LedgerStore } from "../../../domain/billing/ledger.ts";
import {
  type Promotion,
  type PromotionStore,
  promotionSpans,
  remainingCredit,
} from "../../../domain/billing/promotion.ts";
import type { Log } from "../../../kit/log.ts";
import { formatNanos, minNanos } from "../../../kit/money.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { commitWithAudit, type TenancyDeps, type TenancyScope } from "../deps.ts";
import type { MutationLock } from "../mutation-lock.ts";

/** The audit actor of expiries. */
const GATEWAY_ACTOR = "gateway";

/** Later expiries are scheduled by a later run. */
const SCHEDULE_HORIZON_MS = 120_000;

type PromotionReadDeps = {
  readonly store: { readonly ledger: Pick<LedgerStore, "spent">; readonly promotions: Pick<PromotionStore, "list"> };
  waitForIngest(): Promise<void>;
};

/** Request charges in each span of a workspace's promotions. */
function chargesDuring(
  { store }: PromotionReadDeps,
  workspaceId: string,
  promotions: readonly Promotion[],
): Promise<bigint[]> {
  return store.ledger.spent(workspaceId, "charges", promotionSpans(promotions).spans);
}

/** The remaining amount of each open promotion, by id. */
async function remainingByPromotion(
  { store }: PromotionReadDeps,
  workspaceId: string,
  promotions: readonly Promotion[],
  charged: readonly bigint[],
) {
  const { promotions: relevant, spans } = promotionSpans(promotions);
  const corrected = await store.ledger.spent(workspaceId, "corrections", spans);
  const spent = charged.map((nanos, at) => nanos + (corrected[at] ?? 0n));
  return remainingCredit(relevant, spans, spent);
}

export type PromotionWithRemaining = Promotion & { readonly remainingNanos: bigint };

/** Oldest first, after the journal is ingested. */
export async function promotionsOf(deps: PromotionReadDeps, workspaceId: string): Promise<PromotionWithRemaining[]> {
  await deps.waitForIngest();
  const promotions = await deps.store.promotions.list(workspaceId);
  const charged = await chargesDuring(deps, workspaceId, promotions);
  const left = await remainingByPromotion(deps, workspaceId, promotions, charged);
  return promotions.map((one) => {
    const nanos = one.closedAtMs === null ? (left.get(one.id) ?? 0n) - one.expiredNanos : 0n;
    return { ...one, remainingNanos: nanos > 0n ? nanos : 0n };
  });
}

export type PromotionExpiryDeps = TenancyDeps &
  PromotionReadDeps & {
    readonly store: TenancyDeps["store"] & {
      readonly promotions: Pick<PromotionStore, "list" | "due" | "nextExpiryMs">;
    };
    readonly timers: Timers;
    readonly mutationLock: MutationLock;
    /** The maximum duration of a request, and so of its hold. */
    readonly requestMaxMs: number;
    /** The maximum time from a request's arrival, or from a restart, to its charge. */
    readonly lateChargeMaxMs: number;
    readonly warn: Log["warn"];
  };

/**
 * Removes unused promotional credit from the wallet at its expiry. Amounts held by running requests stay until those
 * requests end. Requests that arrived before the expiry and were admitted after it, such as long uploads, may still use
 * the credit: their cost is returned once no such request can be in flight. Expiries during a downtime are processed at
 * the start.
 */
export class PromotionExpiry {
  readonly #deps: PromotionExpiryDeps & TenancyScope;
  readonly #startedAtMs: number;
  /** Promotions whose credit is withdrawn; they are processed once more when they become final. */
  #withdrawn = new Set<string>();
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(deps: PromotionExpiryDeps) {
    this.#deps = { ...deps, auditActor: GATEWAY_ACTOR };
    this.#startedAtMs = deps.clock.nowMs();
  }

  /** One run at a time; the next run retries failures. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Sets a timer for the next expiry. */
  async scheduleNext(): Promise<void> {
    const { store, clock, timers } = this.#deps;
    const nowMs = clock.nowMs();
    const nextMs = await store.promotions.nextExpiryMs(nowMs);
    cancelTimer(this.#timer);
    this.#timer = undefined;
    if (nextMs === undefined || nextMs - nowMs > SCHEDULE_HORIZON_MS || this.#isStopped) return;
    this.#timer = timers.after(nextMs - nowMs, () => void this.run());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { store, clock, warn } = this.#deps;
    try {
      const nowMs = clock.nowMs();
      const open = await store.promotions.due(nowMs);
      this.#withdrawn = this.#withdrawn.intersection(new Set(open.map(({ id }) => id)));
      const due = open.filter((one) => !this.#withdrawn.has(one.id) || this.#isFinal(one, nowMs));
      // Before the lock is taken, so that a slow ingest delays no other change.
      if (due.length > 0) await this.#deps.waitForIngest();
      for (const workspaceId of new Set(due.map((one) => one.workspaceId))) await this.#expireOrWarn(workspaceId);
    } catch (error) {
      warn({ err: error }, "promotions: expiry run failed, will be retried");
    }
    await this.scheduleNext().catch((error: unknown) =>
      warn({ err: error }, "promotions: next expiry could not be scheduled"),
    );
  }

  /** A failure in one workspace does not affect the others. */
  async #expireOrWarn(workspaceId: string): Promise<void> {
    try {
      const observation = await this.#observe(workspaceId);
      await this.#deps.mutationLock.run(() => this.#expire(workspaceId, observation));
    } catch (error) {
      this.#deps.warn({ err: error, workspaceId }, "promotions: expiry of a workspace failed, will be retried");
    }
  }

  /** The slow reads, outside the lock: any later charge started after `atMs` or is included in the held amount. */
  async #observe(workspaceId: string): Promise<WalletObservation> {
    const { store, state, clock } = this.#deps;
    const atMs = clock.nowMs();
    // Holds are read before charges: a request that ends in between is counted twice rather than missed.
    const { heldNanos } = await state.wallet(workspaceId);
    await this.#deps.waitForIngest();
    const promotions = await store.promotions.list(workspaceId);
    return { atMs, heldNanos, promotions, charged: await chargesDuring(this.#deps, workspaceId, promotions) };
  }

  /** Whether no request that arrived before the expiry can still be charged. */
  #isFinal({ expiresAtMs }: Pick<Promotion, "expiresAtMs">, nowMs: number): boolean {
    return nowMs >= Math.max(expiresAtMs, this.#startedAtMs) + this.#deps.lateChargeMaxMs;
  }

  async #expire(workspaceId: string, { atMs, heldNanos, promotions, charged }: WalletObservation): Promise<void> {
    const { store, requestMaxMs } = this.#deps;
    // Another instance may have changed the promotions; the next run handles them.
    if (!isDeepStrictEqual(await store.promotions.list(workspaceId), promotions)) return;
    const left = await remainingByPromotion(this.#deps, workspaceId, promotions, charged);
    const due = promotions.filter((one) => isDue(one, atMs)).toSorted((a, b) => a.expiresAtMs - b.expiresAtMs);
    let reserved = heldNanos;
    for (const promotion of due) {
      const isHeld = heldNanos > 0n && atMs < promotion.expiresAtMs + requestMaxMs;
      const unused = (left.get(promotion.id) ?? 0n) - promotion.expiredNanos;
      const heldBack = isHeld && unused > 0n ? minNanos(reserved, unused) : 0n;
      reserved -= heldBack;
      const isOver = this.#isFinal(promotion, atMs);
      await this.#move(promotion, unused - heldBack, isOver ? "close" : "leave");
      if (!isHeld) this.#withdrawn.add(promotion.id);
    }
  }

  /** Withdraws from the wallet; a negative amount is returned, because too much was withdrawn before. */
  async #move(promotion: Promotion, nanos: bigint, then: "close" | "leave"): Promise<void> {
    const { state, ledgerPoster, clock, directory } = this.#deps;
    const { id, workspaceId, grantedAtMs, expiryParts } = promotion;
    const withdrawn =
      nanos <= 0n ? nanos : await state.withdraw({ workspaceId, nanos, isAllOrNothing: false, reserveNanos: 0n });
    const atMs = clock.nowMs();
    if (withdrawn === 0n) {
      if (then === "close") await this.#close(id, atMs);
      return;
    }
    const transaction = expiryOf({
      id: `expiry:${id}:${expiryParts + 1}`,
      workspaceId,
      currency: directory.workspace(workspaceId)?.currency ?? "",
      nanos: withdrawn,
      createdAtMs: atMs,
      detail: { promotion: id },
    });
    await ledgerPoster.post(transaction, withdrawn > 0n ? withdrawn : 0n, () =>
      commitWithAudit(this.#deps, async ({ ledger, promotions }) => {
        if (!(await ledger.post(transaction))) return { answer: false, audit: null };
        await ledger.recordReturn(transaction.id, { id, workspaceId, createdAtMs: grantedAtMs });
        await promotions.recordExpiry(id, withdrawn);
        if (then === "close") await promotions.close(id, atMs);
        const detail = { amount: formatNanos(withdrawn), promotion: id };
        return {
          answer: true,
          audit: { action: "wallet.expire", workspaceId, target: transaction.id, detail },
        };
      }),
    );
  }

  async #close(id: string, atMs: number): Promise<void> {
    await commitWithAudit(this.#deps, async ({ promotions }) => {
      await promotions.close(id, atMs);
      return { answer: null, audit: null };
    });
  }
}

/** A wallet's state at `atMs`. */
type WalletObservation = {
  readonly atMs: number;
  readonly heldNanos: bigint;
  readonly promotions: readonly Promotion[];
  /** Per span of the promotions. */
  readonly charged: readonly bigint[];
};

function isDue({ closedAtMs, expiresAtMs }: Promotion, nowMs: number): boolean {
  return closedAtMs === null && expiresAtMs <= nowMs;
}

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

/** Who ends credit whose time is over. */
const GATEWAY_ACTOR = "gateway";

/** A date that is further away is found at a later run. */
const SCHEDULE_HORIZON_MS = 120_000;

type PromotionReadDeps = {
  readonly store: { readonly ledger: Pick<LedgerStore, "spent">; readonly promotions: Pick<PromotionStore, "list"> };
  waitForIngest(): Promise<void>;
};

/** What requests cost while the promotions of a workspace run, span by span. */
function chargesDuring(
  { store }: PromotionReadDeps,
  workspaceId: string,
  promotions: readonly Promotion[],
): Promise<bigint[]> {
  return store.ledger.spent(workspaceId, "charges", promotionSpans(promotions).spans);
}

/** What is left of those that are not settled, by their ids. */
async function remainingByPromotion(
  { store }: PromotionReadDeps,
  workspaceId: string,
  promotions: readonly Promotion[],
  charged: readonly bigint[],
) {
  const { together, spans } = promotionSpans(promotions);
  const corrected = await store.ledger.spent(workspaceId, "corrections", spans);
  const spent = charged.map((nanos, at) => nanos + (corrected[at] ?? 0n));
  return remainingCredit(together, spans, spent);
}

export type PromotionWithRemaining = Promotion & { readonly remainingNanos: bigint };

/** Oldest first, with everything in it that the journal held. */
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
    /** Money that is taken out is not beside other changes of it, and not while wallets are being opened. */
    readonly mutationLock: MutationLock;
    /** How long a request can run and hold money. */
    readonly requestMaxMs: number;
    /** How long after it arrived, or after a restart, a request can still be charged. */
    readonly lateChargeMaxMs: number;
    readonly warn: Log["warn"];
  };

/**
 * Ends promotional credit at its date: what requests did not use of it leaves the wallet. What running requests have
 * reserved stays until they have ended, and what they leave of it then goes, too. What requests cost that arrived before
 * the date and were admitted after it, such as long uploads, comes back when none can be on its way any more. A date that
 * passed while nothing ran is made up for at the start.
 */
export class PromotionExpiry {
  readonly #deps: PromotionExpiryDeps & TenancyScope;
  readonly #startedAtMs: number;
  /** Credit that has left, by its id: it is looked at once more, when it can be settled. */
  #withdrawn = new Set<string>();
  #running: Promise<void> | undefined;
  #timer: Timer | undefined;
  #isStopped = false;

  constructor(deps: PromotionExpiryDeps) {
    this.#deps = { ...deps, auditActor: GATEWAY_ACTOR };
    this.#startedAtMs = deps.clock.nowMs();
  }

  /** One run at a time; what goes wrong is tried again at the next. */
  run(): Promise<void> {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Sets the clock for the next date. */
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
      // Before any turn is taken: whoever is slow to write their books down holds up no change of others.
      if (due.length > 0) await this.#deps.waitForIngest();
      for (const workspaceId of new Set(due.map((one) => one.workspaceId))) await this.#expireOrWarn(workspaceId);
    } catch (error) {
      warn({ err: error }, "promotional credit could not be ended yet");
    }
    await this.scheduleNext().catch((error: unknown) =>
      warn({ err: error }, "the next end of promotional credit is not known"),
    );
  }

  /** One wallet that cannot be moved keeps no other from being looked at. */
  async #expireOrWarn(workspaceId: string): Promise<void> {
    try {
      const seen = await this.#observe(workspaceId);
      await this.#deps.mutationLock(() => this.#expire(workspaceId, seen));
    } catch (error) {
      this.#deps.warn({ err: error, workspaceId }, "promotional credit of a workspace could not be ended yet");
    }
  }

  /** What takes time is done before the turn: whatever costs something later began after `atMs`, or is held. */
  async #observe(workspaceId: string): Promise<WalletObservation> {
    const { store, state, clock } = this.#deps;
    const atMs = clock.nowMs();
    // First what is held, then what was charged: a request that ends in between is counted twice, never not at all.
    const { heldNanos } = await state.wallet(workspaceId);
    await this.#deps.waitForIngest();
    const promotions = await store.promotions.list(workspaceId);
    return { atMs, heldNanos, promotions, charged: await chargesDuring(this.#deps, workspaceId, promotions) };
  }

  /** Whether no request that began before its date can be charged any more. */
  #isFinal({ expiresAtMs }: Pick<Promotion, "expiresAtMs">, nowMs: number): boolean {
    return nowMs >= Math.max(expiresAtMs, this.#startedAtMs) + this.#deps.lateChargeMaxMs;
  }

  async #expire(workspaceId: string, { atMs, heldNanos, promotions, charged }: WalletObservation): Promise<void> {
    const { store, requestMaxMs } = this.#deps;
    // Another instance may have ended it, or there is more of it: what is left to do is done at the next run.
    if (!isDeepStrictEqual(await store.promotions.list(workspaceId), promotions)) return;
    const left = await remainingByPromotion(this.#deps, workspaceId, promotions, charged);
    const due = promotions.filter((one) => isDue(one, atMs)).toSorted((a, b) => a.expiresAtMs - b.expiresAtMs);
    let reserved = heldNanos;
    for (const promotion of due) {
      const isHeld = heldNanos > 0n && atMs < promotion.expiresAtMs + requestMaxMs;
      const unused = (left.get(promotion.id) ?? 0n) - promotion.expiredNanos;
      const kept = isHeld && unused > 0n ? minNanos(reserved, unused) : 0n;
      reserved -= kept;
      const isOver = this.#isFinal(promotion, atMs);
      await this.#move(promotion, unused - kept, isOver ? "close" : "leave");
      if (!isHeld) this.#withdrawn.add(promotion.id);
    }
  }

  /** Out of the wallet; what is below zero goes back into it, because more was taken than was unused in the end. */
  async #move(promotion: Promotion, nanos: bigint, then: "close" | "leave"): Promise<void> {
    const { state, ledgerPoster, clock, directory } = this.#deps;
    const { id, workspaceId, grantedAtMs, expiryParts } = promotion;
    const taken =
      nanos <= 0n ? nanos : await state.withdraw({ workspaceId, nanos, isAllOrNothing: false, reserveNanos: 0n });
    const atMs = clock.nowMs();
    if (taken === 0n) {
      if (then === "close") await this.#close(id, atMs);
      return;
    }
    const transaction = expiryOf({
      id: `expiry:${id}:${expiryParts + 1}`,
      workspaceId,
      currency: directory.workspace(workspaceId)?.currency ?? "",
      nanos: taken,
      createdAtMs: atMs,
      detail: { promotion: id },
    });
    await ledgerPoster.post(transaction, taken > 0n ? taken : 0n, () =>
      commitWithAudit(this.#deps, async ({ ledger, promotions }) => {
        if (!(await ledger.post(transaction))) return { answer: false, audit: null };
        await ledger.recordReturn(transaction.id, { id, workspaceId, createdAtMs: grantedAtMs });
        await promotions.recordExpiry(id, taken);
        if (then === "close") await promotions.close(id, atMs);
        const detail = { amount: formatNanos(taken), promotion: id };
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

/** A workspace as it was at a moment. */
type WalletObservation = {
  readonly atMs: number;
  readonly heldNanos: bigint;
  readonly promotions: readonly Promotion[];
  /** In each span of the promotions. */
  readonly charged: readonly bigint[];
};

function isDue({ closedAtMs, expiresAtMs }: Promotion, nowMs: number): boolean {
  return closedAtMs === null && expiresAtMs <= nowMs;
}

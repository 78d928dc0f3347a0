import { Fault, fault } from "../../../contract/faults.ts";
import type { SharedState } from "../../../domain/admission/shared-state.ts";
import { type LedgerStore, type Transaction, walletNanosOf } from "../../../domain/billing/ledger.ts";
import { ChangeNotPropagated } from "../../../domain/fleet/fleet.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import type { Clock } from "../../../kit/clock.ts";

/** A statement whose connection was cut is over by then, one way or the other. */
const UNCERTAIN_MS = 30_000;

/** Ids this process knows to be in the live balance; older ones are not sent again. */
const REMEMBERED_MAX = 10_000;

/** A booking of which nobody knows whether it is in SQL, and what was taken from the live balance for it already. */
type UncertainPosting = {
  readonly workspaceId: string;
  readonly takenNanos: bigint;
  readonly sinceMs: number;
  /** When it was tried here. A booking of another time was made by another instance, which has credited it. */
  readonly attemptedAtMs: ReadonlySet<number>;
  /** Of the live balance that it was taken from. */
  readonly generation: string | undefined;
};

type LedgerPosterDeps = {
  readonly state: Pick<SharedState, "credit" | "announceBooking">;
  readonly ledger: Pick<LedgerStore, "find">;
  readonly clock: Clock;
  /** Another name each time live balances were filled from SQL again, so that they have what SQL has; none: never. */
  readonly walletGeneration?: () => string | undefined;
};

/**
 * Money moves in SQL and in the live balance, and SQL says what is true. Where its answer got lost the live balance
 * waits until it is known: the same booking sent again, or `settle`, finds out.
 */
export class LedgerPoster {
  readonly #deps: LedgerPosterDeps;
  readonly #inFlight = new Map<string, Promise<unknown>>();
  readonly #uncertain = new Map<string, UncertainPosting>();
  readonly #posted = new Set<string>();

  constructor(deps: LedgerPosterDeps) {
    this.#deps = deps;
  }

  /** `write` posts the transaction and answers whether it is new; `takenNanos` left the live balance before. */
  post(transaction: Transaction, takenNanos: bigint, write: () => Promise<boolean>): Promise<boolean> {
    return this.#serialized(transaction.id, () => this.#post(transaction, takenNanos, write));
  }

  /** Looks up what is in doubt; answers how much still is. */
  async resolveUncertain(): Promise<number> {
    const longAgoMs = this.#deps.clock.monotonicMs() - UNCERTAIN_MS;
    for (const [id, { sinceMs }] of this.#uncertain)
      if (sinceMs <= longAgoMs)
        await this.#serialized(id, async () => this.#resolve(id, await this.#deps.ledger.find(id)));
    return this.#uncertain.size;
  }

  /** Two of the same name run one after the other, so that only one of them can be the first. */
  async #serialized<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#inFlight.get(id);
    const mine = before === undefined ? work() : before.then(work);
    const ended = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#inFlight.set(id, ended);
    try {
      return await mine;
    } finally {
      if (this.#inFlight.get(id) === ended) this.#inFlight.delete(id);
    }
  }

  async #post(transaction: Transaction, takenNanos: bigint, write: () => Promise<boolean>): Promise<boolean> {
    const { id, workspaceId, createdAtMs } = transaction;
    const { state, ledger } = this.#deps;
    const giveBack = () => this.#credit(transaction, takenNanos);
    try {
      await this.#recallPosted(id);
      if (!this.#posted.has(id)) await state.announceBooking?.(id, workspaceId, createdAtMs);
    } catch (error) {
      // Nothing was written yet, so there is nothing to be in doubt of.
      await giveBack();
      throw error;
    }
    let isNew: boolean;
    try {
      isNew = await write();
    } catch (error) {
      // It is written for certain, and new: nothing else is told to others.
      if (error instanceof ChangeNotPropagated) {
        await this.#recordPosted(transaction, takenNanos);
        throw postedFault(id, "the other instances could not be told of it yet: they learn of it within some seconds");
      }
      if (isCertainlyNotWritten(error)) {
        await giveBack();
        throw error;
      }
      this.#markUncertain(transaction, takenNanos);
      throw error instanceof StoreError ? uncertainFault(id, error) : error;
    }
    if (isNew) {
      await this.#recordPosted(transaction, takenNanos);
      return true;
    }
    await giveBack();
    if (this.#uncertain.has(id)) await this.#resolve(id, await ledger.find(id));
    return false;
  }

  async #recordPosted(transaction: Transaction, takenNanos: bigint): Promise<void> {
    const { id } = transaction;
    await this.#resolve(id, undefined);
    await this.#credit(transaction, walletNanosOf(transaction) + takenNanos);
    this.#remember(id);
  }

  /** The booking is over with this, unless an earlier try of it is still in doubt. */
  #credit({ id, workspaceId }: Transaction, nanos: bigint): Promise<void> {
    return this.#deps.state.credit(workspaceId, nanos, this.#uncertain.has(id) ? undefined : id);
  }

  /**
   * What the books had before anything was written here came into the live balance with them, at the start: a doubt
   * about its repetition must not bring it in again.
   */
  async #recallPosted(id: string): Promise<void> {
    if (this.#posted.has(id) || this.#uncertain.has(id)) return;
    if ((await this.#deps.ledger.find(id)) !== undefined) this.#remember(id);
  }

  #markUncertain({ id, workspaceId, createdAtMs }: Transaction, takenNanos: bigint): void {
    const { clock, walletGeneration } = this.#deps;
    const now = walletGeneration?.();
    const known = this.#uncertain.get(id);
    // A balance that was filled again since then has what came of it.
    const before = known?.generation === now ? known : undefined;
    this.#uncertain.set(id, {
      workspaceId,
      takenNanos: (before?.takenNanos ?? 0n) + takenNanos,
      sinceMs: clock.monotonicMs(),
      attemptedAtMs: new Set([...(before?.attemptedAtMs ?? []), createdAtMs]),
      generation: now,
    });
  }

  /** The doubt ends: what was booked is in the live balance from here on, what was not is given back. */
  async #resolve(id: string, booked: Transaction | undefined): Promise<void> {
    const doubt = this.#uncertain.get(id);
    if (doubt === undefined) return;
    this.#uncertain.delete(id);
    const isOurs = booked !== undefined && doubt.attemptedAtMs.has(booked.createdAtMs) && !this.#posted.has(id);
    const missed = isOurs ? walletNanosOf(booked) : 0n;
    if (booked !== undefined) this.#remember(id);
    const isFilledAgain = doubt.generation !== this.#deps.walletGeneration?.();
    await this.#deps.state.credit(doubt.workspaceId, isFilledAgain ? 0n : missed + doubt.takenNanos, id);
  }

  #remember(id: string): void {
    this.#posted.add(id);
    if (this.#posted.size <= REMEMBERED_MAX) return;
    for (const oldest of this.#posted) {
      this.#posted.delete(oldest);
      return;
    }
  }
}

/** Refused by ourselves or by the store: certainly not written. */
function isCertainlyNotWritten(error: unknown): boolean {
  return error instanceof Fault || (error instanceof StoreError && error.failure !== "unavailable");
}

/** Nobody may take it for a refusal: what is sent again without a name of its own is booked twice. */
export function postedFault(id: string, but: string): Fault {
  return fault("service_unavailable", {
    message: `It is booked, as ${id}, but ${but}. Do not send it again; the entries of the wallet have it.`,
    headers: { "retry-after": "5", "x-should-retry": "false" },
  });
}

function uncertainFault(id: string, { message: cause }: StoreError): Fault {
  return fault("service_unavailable", {
    message: `The store of the gateway does not answer right now, and it is not known whether it was booked, as ${id}. Look at the entries of the wallet before you send it again, unless it has a name of your own.`,
    headers: { "retry-after": "5", "x-should-retry": "false" },
    detail: { cause },
  });
}

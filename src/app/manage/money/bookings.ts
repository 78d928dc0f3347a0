import { Fault } from "../../../contract/faults.ts";
import type { SharedState } from "../../../domain/admission/admission.ts";
import { type LedgerStore, type Transaction, walletNanosOf } from "../../../domain/billing/ledger.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import type { Clock } from "../../../kit/clock.ts";

/** A statement whose connection was cut is over by then, one way or the other. */
const DOUBT_MS = 30_000;

/** Ids this process knows to be in the live balance; older ones are not sent again. */
const KNOWN_MAX = 10_000;

/** A booking of which nobody knows whether it is in SQL, and what was taken from the live balance for it already. */
type Doubt = { readonly workspaceId: string; readonly takenNanos: bigint; readonly sinceMs: number };

type Deps = {
  readonly state: Pick<SharedState, "credit">;
  readonly ledger: Pick<LedgerStore, "find">;
  readonly clock: Clock;
};

/**
 * Money moves in SQL and in the live balance, and SQL says what is true. Where its answer got lost the live balance
 * waits until it is known: the same booking sent again, or `settle`, finds out.
 */
export class Bookings {
  readonly #deps: Deps;
  readonly #running = new Map<string, Promise<unknown>>();
  readonly #doubts = new Map<string, Doubt>();
  readonly #known = new Set<string>();

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  /** `write` posts the transaction and answers whether it is new; `takenNanos` left the live balance before. */
  book(transaction: Transaction, takenNanos: bigint, write: () => Promise<boolean>): Promise<boolean> {
    return this.#alone(transaction.id, () => this.#book(transaction, takenNanos, write));
  }

  /** Looks up what is in doubt; answers how much still is. */
  async settle(): Promise<number> {
    const longAgoMs = this.#deps.clock.elapsedMs() - DOUBT_MS;
    for (const [id, { sinceMs }] of this.#doubts)
      if (sinceMs <= longAgoMs) await this.#alone(id, async () => this.#resolve(id, await this.#deps.ledger.find(id)));
    return this.#doubts.size;
  }

  /** Two of the same name run one after the other, so that only one of them can be the first. */
  async #alone<T>(id: string, work: () => Promise<T>): Promise<T> {
    const before = this.#running.get(id);
    const mine = before === undefined ? work() : before.then(work);
    const ended = mine.then(
      () => undefined,
      () => undefined,
    );
    this.#running.set(id, ended);
    try {
      return await mine;
    } finally {
      if (this.#running.get(id) === ended) this.#running.delete(id);
    }
  }

  async #book(transaction: Transaction, takenNanos: bigint, write: () => Promise<boolean>): Promise<boolean> {
    const { id, workspaceId } = transaction;
    const { state, ledger } = this.#deps;
    try {
      await this.#recall(id);
    } catch (error) {
      // Nothing was written yet, so there is nothing to be in doubt of.
      await state.credit(workspaceId, takenNanos);
      throw error;
    }
    let isNew: boolean;
    try {
      isNew = await write();
    } catch (error) {
      if (isUndone(error)) await state.credit(workspaceId, takenNanos);
      else this.#doubt(id, workspaceId, takenNanos);
      throw error;
    }
    if (isNew) {
      await this.#resolve(id, undefined);
      await state.credit(workspaceId, walletNanosOf(transaction) + takenNanos);
      this.#know(id);
      return true;
    }
    await state.credit(workspaceId, takenNanos);
    if (this.#doubts.has(id)) await this.#resolve(id, await ledger.find(id));
    return false;
  }

  /**
   * What the books had before anything was written here came into the live balance with them, at the start: a doubt
   * about its repetition must not bring it in again.
   */
  async #recall(id: string): Promise<void> {
    if (this.#known.has(id) || this.#doubts.has(id)) return;
    if ((await this.#deps.ledger.find(id)) !== undefined) this.#know(id);
  }

  #doubt(id: string, workspaceId: string, takenNanos: bigint): void {
    const before = this.#doubts.get(id)?.takenNanos ?? 0n;
    const sinceMs = this.#deps.clock.elapsedMs();
    this.#doubts.set(id, { workspaceId, takenNanos: before + takenNanos, sinceMs });
  }

  /** The doubt ends: what was booked is in the live balance from here on, what was not is given back. */
  async #resolve(id: string, booked: Transaction | undefined): Promise<void> {
    const doubt = this.#doubts.get(id);
    if (doubt === undefined) return;
    this.#doubts.delete(id);
    const missed = booked === undefined || this.#known.has(id) ? 0n : walletNanosOf(booked);
    if (booked !== undefined) this.#know(id);
    await this.#deps.state.credit(doubt.workspaceId, missed + doubt.takenNanos);
  }

  #know(id: string): void {
    this.#known.add(id);
    if (this.#known.size <= KNOWN_MAX) return;
    for (const oldest of this.#known) {
      this.#known.delete(oldest);
      return;
    }
  }
}

/** Refused by ourselves or by the store: certainly not written. */
function isUndone(error: unknown): boolean {
  return error instanceof Fault || (error instanceof StoreError && error.failure !== "unavailable");
}

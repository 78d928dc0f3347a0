import { Fault, fault } from "../../../contract/faults.ts";
import type { SharedState } from "../../../domain/admission/shared-state.ts";
import { type LedgerStore, type Transaction, walletNanosOf } from "../../../domain/billing/ledger.ts";
import { ChangeNotPropagated } from "../../../domain/fleet/fleet.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import type { Clock } from "../../../kit/clock.ts";

/** After this time a statement whose connection was lost has committed or rolled back. */
const UNCERTAIN_MS = 30_000;

/** Transaction ids that are known to be in the live balance. */
const REMEMBERED_MAX = 10_000;

/** A transaction that may or may not be committed in SQL, and the amount debited from the live balance for it. */
type UncertainPosting = {
  readonly workspaceId: string;
  readonly takenNanos: bigint;
  readonly sinceMs: number;
  /** Times of this process's attempts. A transaction with another time was posted, and credited, by another instance. */
  readonly attemptedAtMs: ReadonlySet<number>;
  /** The generation of the live balance that was debited. */
  readonly generation: string | undefined;
};

type LedgerPosterDeps = {
  readonly state: Pick<SharedState, "credit" | "announceBooking">;
  readonly ledger: Pick<LedgerStore, "find">;
  readonly clock: Clock;
  /** Changes when the live balances are reloaded from SQL; absent: they never are. */
  readonly walletGeneration?: () => string | undefined;
};

/**
 * Posts transactions to SQL and applies them to the live balance; SQL is authoritative. If the outcome of a commit is
 * unknown, the live balance changes only once a repeated post or `resolveUncertain` finds out.
 */
export class LedgerPoster {
  readonly #deps: LedgerPosterDeps;
  readonly #inFlight = new Map<string, Promise<unknown>>();
  readonly #uncertain = new Map<string, UncertainPosting>();
  readonly #posted = new Set<string>();

  constructor(deps: LedgerPosterDeps) {
    this.#deps = deps;
  }

  /** `write` commits the transaction and returns whether it is new; `takenNanos` was debited from the live balance. */
  post(transaction: Transaction, takenNanos: bigint, write: () => Promise<boolean>): Promise<boolean> {
    return this.#serialized(transaction.id, () => this.#post(transaction, takenNanos, write));
  }

  /** Looks up uncertain transactions; returns how many remain. */
  async resolveUncertain(): Promise<number> {
    const longAgoMs = this.#deps.clock.monotonicMs() - UNCERTAIN_MS;
    for (const [id, { sinceMs }] of this.#uncertain)
      if (sinceMs <= longAgoMs)
        await this.#serialized(id, async () => this.#resolve(id, await this.#deps.ledger.find(id)));
    return this.#uncertain.size;
  }

  /** Serializes posts with the same id, so that only one of them is new. */
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
      // Nothing was written yet, so the outcome is certain.
      await giveBack();
      throw error;
    }
    let isNew: boolean;
    try {
      isNew = await write();
    } catch (error) {
      // The commit succeeded and only the notification of other instances failed.
      if (error instanceof ChangeNotPropagated) {
        await this.#recordPosted(transaction, takenNanos);
        throw postedFault(id, "other instances were not notified yet and will follow within seconds");
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

  /** Ends the recorded intent, unless an earlier attempt is still uncertain. */
  #credit({ id, workspaceId }: Transaction, nanos: bigint): Promise<void> {
    return this.#deps.state.credit(workspaceId, nanos, this.#uncertain.has(id) ? undefined : id);
  }

  /** A transaction that SQL had before is part of the loaded balance; a repeated post must not credit it again. */
  async #recallPosted(id: string): Promise<void> {
    if (this.#posted.has(id) || this.#uncertain.has(id)) return;
    if ((await this.#deps.ledger.find(id)) !== undefined) this.#remember(id);
  }

  #markUncertain({ id, workspaceId, createdAtMs }: Transaction, takenNanos: bigint): void {
    const { clock, walletGeneration } = this.#deps;
    const now = walletGeneration?.();
    const earlier = this.#uncertain.get(id);
    // A balance that was reloaded since then already includes the outcome.
    const before = earlier?.generation === now ? earlier : undefined;
    this.#uncertain.set(id, {
      workspaceId,
      takenNanos: (before?.takenNanos ?? 0n) + takenNanos,
      sinceMs: clock.monotonicMs(),
      attemptedAtMs: new Set([...(before?.attemptedAtMs ?? []), createdAtMs]),
      generation: now,
    });
  }

  /** Credits a committed transaction to the live balance, or returns the debit of one that was not committed. */
  async #resolve(id: string, posted: Transaction | undefined): Promise<void> {
    const uncertain = this.#uncertain.get(id);
    if (uncertain === undefined) return;
    this.#uncertain.delete(id);
    const isOurs = posted !== undefined && uncertain.attemptedAtMs.has(posted.createdAtMs) && !this.#posted.has(id);
    const missed = isOurs ? walletNanosOf(posted) : 0n;
    if (posted !== undefined) this.#remember(id);
    const isFilledAgain = uncertain.generation !== this.#deps.walletGeneration?.();
    await this.#deps.state.credit(uncertain.workspaceId, isFilledAgain ? 0n : missed + uncertain.takenNanos, id);
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

function isCertainlyNotWritten(error: unknown): boolean {
  return error instanceof Fault || (error instanceof StoreError && error.failure !== "unavailable");
}

/** Must not look like a rejection: a retry without an idempotency key would post twice. */
export function postedFault(id: string, but: string): Fault {
  return fault("service_unavailable", {
    message: `The transaction ${id} was posted, but ${but}. Do not send it again; it is in the ledger entries of the wallet.`,
    headers: { "retry-after": "5", "x-should-retry": "false" },
  });
}

function uncertainFault(id: string, { message: cause }: StoreError): Fault {
  return fault("service_unavailable", {
    message: `The store does not respond, so it is unknown whether the transaction ${id} was posted. Check the ledger entries of the wallet before you send it again, unless you set a reference.`,
    headers: { "retry-after": "5", "x-should-retry": "false" },
    detail: { cause },
  });
}

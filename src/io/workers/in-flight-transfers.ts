import { isWalletLock } from "../../domain/fleet/coordination-store.ts";

export type IntendedTransaction = {
  /** Of the transaction that is about to be written. */
  readonly id: string;
  readonly workspaceId: string;
  /** Another one of the same name was made at another time. */
  readonly createdAtMs: number;
};

/** What a transaction brought into its wallet; nothing, where the books do not have it. */
export type RecordedAmount = (intended: IntendedTransaction) => Promise<bigint>;

/**
 * What one worker does about money while it has a lock on it, and until it knows what came of that: what it means to
 * book, and what it did to live balances. If it dies in between, the books say how far it came, and only the difference
 * is missing.
 */
export class InFlightTransfers {
  readonly #locks = new Set<number>();
  readonly #intended = new Map<string, IntendedTransaction>();
  /** Names of those that the worker does not know the end of yet. */
  readonly #open = new Set<string>();
  /** By workspace, what came into the live balance. */
  readonly #moved = new Map<string, bigint>();

  locked(lock: number, name: string): void {
    if (isWalletLock(name)) this.#locks.add(lock);
  }

  unlocked(lock: number): void {
    this.#locks.delete(lock);
    this.#forget();
  }

  intend(intended: IntendedTransaction): void {
    if (this.#locks.size === 0) return;
    this.#intended.set(`${intended.createdAtMs} ${intended.id}`, intended);
    this.#open.add(intended.id);
  }

  booked(id: string): void {
    this.#open.delete(id);
    this.#forget();
  }

  moved(workspaceId: string, nanos: bigint): void {
    if (this.#locks.size + this.#open.size > 0)
      this.#moved.set(workspaceId, (this.#moved.get(workspaceId) ?? 0n) + nanos);
  }

  /** By workspace, what the books have of this and the live balance has not; negative: it has too much. */
  async missing(bookedNanos: RecordedAmount): Promise<ReadonlyMap<string, bigint>> {
    const missing = new Map([...this.#moved].map(([workspaceId, nanos]) => [workspaceId, -nanos]));
    for (const intended of this.#intended.values()) {
      const { workspaceId } = intended;
      missing.set(workspaceId, (missing.get(workspaceId) ?? 0n) + (await bookedNanos(intended)));
    }
    return missing;
  }

  clear(): void {
    this.#intended.clear();
    this.#open.clear();
    this.#moved.clear();
  }

  /** What is over is in the books and in the live balance, or in neither. */
  #forget(): void {
    if (this.#locks.size + this.#open.size === 0) this.clear();
  }
}

import { isWalletLock } from "../../domain/fleet/coordination-store.ts";

/** A ledger transaction that a worker is about to write. */
export type IntendedTransaction = {
  readonly id: string;
  readonly workspaceId: string;
  /** Tells transactions apart that share an id. */
  readonly createdAtMs: number;
};

/** What a transaction moved into its wallet according to the ledger; zero when the ledger does not have it. */
export type LedgerAmount = (transaction: IntendedTransaction) => Promise<bigint>;

/**
 * Money movements of one worker that may be half done: announced ledger transactions, and changes of live balances
 * made under a wallet lock. If the worker crashes, comparing them with the ledger gives the difference to correct.
 */
export class InFlightTransfers {
  readonly #walletLocks = new Set<number>();
  readonly #announced = new Map<string, IntendedTransaction>();
  /** Ids of announced transactions whose outcome the worker does not know yet. */
  readonly #unconfirmed = new Set<string>();
  /** Change of the live balance, by workspace. */
  readonly #balanceChanges = new Map<string, bigint>();

  lockAcquired(lock: number, name: string): void {
    if (isWalletLock(name)) this.#walletLocks.add(lock);
  }

  lockReleased(lock: number): void {
    this.#walletLocks.delete(lock);
    this.#clearIfComplete();
  }

  announce(transaction: IntendedTransaction): void {
    if (this.#walletLocks.size === 0) return;
    this.#announced.set(`${transaction.createdAtMs} ${transaction.id}`, transaction);
    this.#unconfirmed.add(transaction.id);
  }

  confirm(transactionId: string): void {
    this.#unconfirmed.delete(transactionId);
    this.#clearIfComplete();
  }

  balanceChanged(workspaceId: string, nanos: bigint): void {
    if (this.#walletLocks.size + this.#unconfirmed.size > 0)
      this.#balanceChanges.set(workspaceId, (this.#balanceChanges.get(workspaceId) ?? 0n) + nanos);
  }

  /** Amount by which each live balance must change to match the ledger. */
  async corrections(ledgerAmount: LedgerAmount): Promise<ReadonlyMap<string, bigint>> {
    const corrections = new Map([...this.#balanceChanges].map(([workspaceId, nanos]) => [workspaceId, -nanos]));
    for (const transaction of this.#announced.values()) {
      const { workspaceId } = transaction;
      corrections.set(workspaceId, (corrections.get(workspaceId) ?? 0n) + (await ledgerAmount(transaction)));
    }
    return corrections;
  }

  clear(): void {
    this.#announced.clear();
    this.#unconfirmed.clear();
    this.#balanceChanges.clear();
  }

  /** Without open locks and unconfirmed transactions, ledger and live balances agree. */
  #clearIfComplete(): void {
    if (this.#walletLocks.size + this.#unconfirmed.size === 0) this.clear();
  }
}

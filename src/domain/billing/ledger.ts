import type { BookedFields } from "../record/booked.ts";

/**
 * Double entry, append only. Every transaction sums to zero and is known by the gateway's own id, so that writing it a
 * second time changes nothing. The invariants are in README.md beside this file.
 */
export const ACCOUNTS = ["wallet", "revenue", "promotion", "topup_clearing", "refund"] as const;
export type Account = (typeof ACCOUNTS)[number];

export type Entry = {
  readonly account: Account;
  readonly workspaceId: string;
  readonly currency: string;
  /** Positive raises the account, negative lowers it. */
  readonly nanos: bigint;
};

export type TransactionKind = "charge" | "topup" | "promotion" | "refund" | "adjustment";

export type Transaction = {
  readonly id: string;
  readonly kind: TransactionKind;
  readonly workspaceId: string;
  readonly createdAtMs: number;
  readonly note: string | null;
  /** What the amount was computed from: price row and exchange rate of a charge. */
  readonly detail?: Readonly<Record<string, unknown>> | null;
  readonly entries: readonly Entry[];
};

export class UnbalancedTransaction extends Error {
  constructor(id: string, sum: bigint) {
    super(`ledger transaction ${id} sums to ${sum}, not to zero`);
    this.name = "UnbalancedTransaction";
  }
}

/** The check every posting goes through: entries sum to zero per currency. */
export function assertBalanced(transaction: Transaction): void {
  const sums = new Map<string, bigint>();
  for (const entry of transaction.entries) sums.set(entry.currency, (sums.get(entry.currency) ?? 0n) + entry.nanos);
  for (const sum of sums.values()) if (sum !== 0n) throw new UnbalancedTransaction(transaction.id, sum);
}

/** A transaction as it is kept: one amount on its way from one account of a workspace to another. */
export type Transfer = {
  readonly from: Account;
  readonly to: Account;
  readonly currency: string;
  /** Never negative. */
  readonly nanos: bigint;
};

/** The only kind of transaction there is. Anything else, balanced or not, is refused. */
export function transferOf(transaction: Transaction): Transfer {
  assertBalanced(transaction);
  const [first, second, ...others] = transaction.entries;
  const isTransfer =
    first !== undefined &&
    second !== undefined &&
    others.length === 0 &&
    first.account !== second.account &&
    [first, second].every(({ workspaceId }) => workspaceId === transaction.workspaceId);
  if (!isTransfer)
    throw new RangeError(`ledger transaction ${transaction.id} is not between two accounts of a workspace`);
  const [from, to] = first.nanos <= 0n ? [first, second] : [second, first];
  return { from: from.account, to: to.account, currency: to.currency, nanos: to.nanos };
}

export function entriesOf(transfer: Transfer, workspaceId: string): Entry[] {
  const { from, to, currency, nanos } = transfer;
  return [
    { account: from, workspaceId, currency, nanos: -nanos },
    { account: to, workspaceId, currency, nanos },
  ];
}

type Posting = {
  id: string;
  workspaceId: string;
  currency: string;
  nanos: bigint;
  createdAtMs: number;
  note?: string | null;
  detail?: Readonly<Record<string, unknown>> | null;
};

function between(kind: TransactionKind, from: Account, to: Account, posting: Posting): Transaction {
  const { id, workspaceId, currency, nanos, createdAtMs, note = null, detail = null } = posting;
  const entries = entriesOf({ from, to, currency, nanos }, workspaceId);
  return { id, kind, workspaceId, createdAtMs, note, detail, entries };
}

/** The accounts of every charge. */
export const CHARGE = { from: "wallet", to: "revenue" } as const;

export const chargeOf = (posting: Posting): Transaction => between("charge", CHARGE.from, CHARGE.to, posting);
export const topupOf = (posting: Posting): Transaction => between("topup", "topup_clearing", "wallet", posting);

/** What a finished request costs; zero when nothing was charged. */
export function chargedNanosOf(record: BookedFields): bigint {
  if (record.charge === null) return 0n;
  const nanos = BigInt(record.charge.nanos);
  if (nanos < 0n) throw new RangeError(`request ${record.id} has a negative charge`);
  return nanos;
}

/** The transaction of a finished request is known by the request's id. */
export const chargeIdOf = (requestId: string): string => `charge:${requestId}`;

export type WalletRow = { readonly workspaceId: string; readonly currency: string; readonly balanceNanos: bigint };

export type LedgerStore = {
  /** Writes once: a transaction id that exists already changes nothing and answers false. */
  post(transaction: Transaction): Promise<boolean>;
  wallets(): Promise<WalletRow[]>;
  wallet(workspaceId: string): Promise<WalletRow | undefined>;
  entries(
    workspaceId: string,
    limit: number,
    cursor: string | null,
  ): Promise<{ rows: Transaction[]; next: string | null }>;
  /** What `gateway doctor` asks: broken invariants in words, none when the books balance. */
  audit(): Promise<string[]>;
};

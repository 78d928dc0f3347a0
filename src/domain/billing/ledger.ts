import type { IngestFields } from "../record/ingest-fields.ts";
import { CHARGE_PREFIX } from "./charge.ts";

/**
 * Double entry, append only. Every transaction sums to zero and has an id of the gateway, so that writing it twice changes
 * nothing. The invariants are in README.md beside this file.
 */
export const ACCOUNTS = ["wallet", "revenue", "promotion", "topup_clearing", "refund", "adjustment"] as const;
export type Account = (typeof ACCOUNTS)[number];

export type LedgerEntry = {
  readonly account: Account;
  readonly workspaceId: string;
  readonly currency: string;
  /** Positive raises the account, negative lowers it. */
  readonly nanos: bigint;
};

export const TRANSACTION_KINDS = [
  "charge",
  "topup",
  "promotion",
  "expiry",
  "refund",
  "payout",
  "chargeback",
  "adjustment",
] as const;
export type TransactionKind = (typeof TRANSACTION_KINDS)[number];

export type Transaction = {
  readonly id: string;
  readonly kind: TransactionKind;
  readonly workspaceId: string;
  readonly createdAtMs: number;
  readonly note: string | null;
  /** What the amount was computed from: for a charge, price row and exchange rate. */
  readonly detail?: Readonly<Record<string, unknown>> | null;
  readonly entries: readonly LedgerEntry[];
};

export class UnbalancedTransaction extends Error {
  constructor(id: string, sum: bigint) {
    super(`ledger transaction ${id} sums to ${sum}, not to zero`);
    this.name = "UnbalancedTransaction";
  }
}

/** Entries sum to zero per currency. */
export function assertBalanced(transaction: Transaction): void {
  const sums = new Map<string, bigint>();
  for (const entry of transaction.entries) sums.set(entry.currency, (sums.get(entry.currency) ?? 0n) + entry.nanos);
  for (const sum of sums.values()) if (sum !== 0n) throw new UnbalancedTransaction(transaction.id, sum);
}

/** A transaction as it is stored: one amount from one account of a workspace to another. */
export type Transfer = {
  readonly from: Account;
  readonly to: Account;
  readonly currency: string;
  /** Never negative. */
  readonly nanos: bigint;
};

/** Throws for anything but a transfer between two accounts of one workspace. */
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

export function entriesOf(transfer: Transfer, workspaceId: string): LedgerEntry[] {
  const { from, to, currency, nanos } = transfer;
  return [
    { account: from, workspaceId, currency, nanos: -nanos },
    { account: to, workspaceId, currency, nanos },
  ];
}

export type Posting = {
  id: string;
  workspaceId: string;
  currency: string;
  nanos: bigint;
  createdAtMs: number;
  note?: string | null;
  detail?: Readonly<Record<string, unknown>> | null;
};

function buildTransaction(kind: TransactionKind, from: Account, to: Account, posting: Posting): Transaction {
  const { id, workspaceId, currency, nanos, createdAtMs, note = null, detail = null } = posting;
  const entries = entriesOf({ from, to, currency, nanos }, workspaceId);
  return { id, kind, workspaceId, createdAtMs, note, detail, entries };
}

export const CHARGE = { from: "wallet", to: "revenue" } as const;

export const topupOf = (posting: Posting): Transaction =>
  buildTransaction("topup", "topup_clearing", "wallet", posting);
export const promotionOf = (posting: Posting): Transaction =>
  buildTransaction("promotion", "promotion", "wallet", posting);
/** Unused promotional credit; negative when too much had expired before. */
export const expiryOf = (posting: Posting): Transaction => buildTransaction("expiry", "wallet", "promotion", posting);
/** Returns part of a charge to the wallet. */
export const refundOf = (posting: Posting): Transaction => buildTransaction("refund", "refund", "wallet", posting);
/** Paid money back to the payer, by the operator. A chargeback is taken by the payer's bank. */
export const payoutOf = (posting: Posting): Transaction =>
  buildTransaction("payout", "wallet", "topup_clearing", posting);
export const chargebackOf = (posting: Posting): Transaction =>
  buildTransaction("chargeback", "wallet", "topup_clearing", posting);

export function adjustmentOf(direction: "up" | "down", posting: Posting): Transaction {
  return direction === "up"
    ? buildTransaction("adjustment", "adjustment", "wallet", posting)
    : buildTransaction("adjustment", "wallet", "adjustment", posting);
}

/** The effect of a transaction on its wallet. */
export function walletNanosOf({ entries }: Transaction): bigint {
  return entries.reduce((sum, { account, nanos }) => (account === "wallet" ? sum + nanos : sum), 0n);
}

/** The request of a charge or of a refund; null for other transactions. */
export function requestIdOf({ id, kind, detail }: Transaction): string | null {
  const source: unknown = kind === "charge" ? id : detail?.["source"];
  return typeof source === "string" && source.startsWith(CHARGE_PREFIX) ? source.slice(CHARGE_PREFIX.length) : null;
}

export type WalletRow = { readonly workspaceId: string; readonly currency: string; readonly balanceNanos: bigint };

export type LedgerFilter = {
  readonly kinds?: readonly TransactionKind[];
  /** `sinceMs` is inclusive, `untilMs` exclusive. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

export type BalancedEntry = { readonly transaction: Transaction; readonly balanceNanos: bigint };

/** A transaction that another one returns, fully or partly. */
export type ReturnSource = Pick<Transaction, "id" | "workspaceId" | "createdAtMs">;

export type ChargedRequest = Pick<IngestFields, "id" | "workspaceId" | "createdAtMs">;

/** `fromMs` is inclusive, `toMs` exclusive. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number };

/** What uses promotional credit first: charges, and manual adjustments downwards. */
export type SpendingKind = "charges" | "corrections";

export type StatementSums = {
  /** Balance at the start of the span. */
  readonly openingNanos: bigint;
  /** By kind and direction: an adjustment can go either way. */
  readonly kinds: readonly {
    readonly kind: TransactionKind;
    readonly transactions: number;
    readonly inNanos: bigint;
    readonly outNanos: bigint;
  }[];
  /** Charges by model, an empty string if unknown. Only whole UTC days. */
  readonly models: readonly { readonly model: string; readonly requests: number; readonly nanos: bigint }[];
};

export type LedgerStore = {
  /** False when a transaction with this id exists; nothing changes then. */
  post(transaction: Transaction): Promise<boolean>;
  /** Records that a transaction returns part of another; returns the total returned of that one so far. */
  recordReturn(transactionId: string, source: ReturnSource): Promise<bigint>;
  /** The amount returned so far, by all transactions or by those of one kind. */
  returned(workspaceId: string, sourceId: string, kind?: TransactionKind): Promise<bigint>;
  /** The transactions of one kind that returned part of it. */
  returns(workspaceId: string, sourceId: string, kind: TransactionKind): Promise<Transaction[]>;
  /** Not for charges. */
  find(id: string): Promise<Transaction | undefined>;
  /** `within`: when the request started. */
  findCharge(workspaceId: string, requestId: string, within: TimeSpan): Promise<Transaction | undefined>;
  /** Those requests whose charges are in the ledger. */
  chargedRequestIds(requests: readonly ChargedRequest[]): Promise<ReadonlySet<string>>;
  /** The amount spent in each span. */
  spent(workspaceId: string, spending: SpendingKind, spans: readonly TimeSpan[]): Promise<bigint[]>;
  statement(workspaceId: string, span: TimeSpan): Promise<StatementSums>;
  wallets(): Promise<WalletRow[]>;
  wallet(workspaceId: string): Promise<WalletRow | undefined>;
  entries(
    workspaceId: string,
    limit: number,
    cursor: string | null,
    filter?: LedgerFilter,
  ): Promise<{ rows: Transaction[]; next: string | null }>;
  /**
   * The balance after each entry of the page, ordered by time. There is no filter by kind, because a running balance needs
   * every entry.
   */
  balances(
    workspaceId: string,
    limit: number,
    cursor: string | null,
    filter?: Omit<LedgerFilter, "kinds">,
  ): Promise<{ rows: BalancedEntry[]; next: string | null }>;
  /** For `gateway doctor`: one message for each broken invariant. Reads every row. */
  audit(): Promise<string[]>;
  /** The same for days that changed since an earlier call found them to be in order. */
  auditChanges(): Promise<string[]>;
};

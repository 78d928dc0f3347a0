import type { IngestFields } from "../record/ingest-fields.ts";

/**
 * Double entry, append only. Every transaction sums to zero and is known by the gateway's own id, so that writing it a
 * second time changes nothing. The invariants are in README.md beside this file.
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
  /** What the amount was computed from: price row and exchange rate of a charge. */
  readonly detail?: Readonly<Record<string, unknown>> | null;
  readonly entries: readonly LedgerEntry[];
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

/** The accounts of every charge. */
export const CHARGE = { from: "wallet", to: "revenue" } as const;

export const topupOf = (posting: Posting): Transaction =>
  buildTransaction("topup", "topup_clearing", "wallet", posting);
/** Credit that is given away, and what was not used of it by its date; below zero: too much of it had expired. */
export const promotionOf = (posting: Posting): Transaction =>
  buildTransaction("promotion", "promotion", "wallet", posting);
export const expiryOf = (posting: Posting): Transaction => buildTransaction("expiry", "wallet", "promotion", posting);
/** Of a request that was charged, back into the wallet. */
export const refundOf = (posting: Posting): Transaction => buildTransaction("refund", "refund", "wallet", posting);
/** Money that was paid in and goes back to where it came from: by the operator, or taken by the payer's bank. */
export const payoutOf = (posting: Posting): Transaction =>
  buildTransaction("payout", "wallet", "topup_clearing", posting);
export const chargebackOf = (posting: Posting): Transaction =>
  buildTransaction("chargeback", "wallet", "topup_clearing", posting);

export function adjustmentOf(direction: "up" | "down", posting: Posting): Transaction {
  return direction === "up"
    ? buildTransaction("adjustment", "adjustment", "wallet", posting)
    : buildTransaction("adjustment", "wallet", "adjustment", posting);
}

/** What a transaction does to the wallet it belongs to. */
export function walletNanosOf({ entries }: Transaction): bigint {
  return entries.reduce((sum, { account, nanos }) => (account === "wallet" ? sum + nanos : sum), 0n);
}

/** What a finished request costs; zero when nothing was charged. */
export function chargedNanosOf(record: IngestFields): bigint {
  if (record.charge === null) return 0n;
  const nanos = BigInt(record.charge.nanos);
  if (nanos < 0n) throw new RangeError(`request ${record.id} has a negative charge`);
  return nanos;
}

/** The transaction of a finished request is known by the request's id. */
export const chargeIdOf = (requestId: string): string => `${CHARGE_PREFIX}${requestId}`;
const CHARGE_PREFIX = "charge:";

/** The request that a transaction is about: its charge, or what was given back of that. Null: none. */
export function requestIdOf({ id, kind, detail }: Transaction): string | null {
  const source: unknown = kind === "charge" ? id : detail?.["source"];
  return typeof source === "string" && source.startsWith(CHARGE_PREFIX) ? source.slice(CHARGE_PREFIX.length) : null;
}

export type WalletRow = { readonly workspaceId: string; readonly currency: string; readonly balanceNanos: bigint };

export type LedgerFilter = {
  readonly kinds?: readonly TransactionKind[];
  /** From this moment on, and before this one. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
};

export type BalancedEntry = { readonly transaction: Transaction; readonly balanceNanos: bigint };

/** A transaction that another one gives back, in whole or in part. */
export type ReturnSource = Pick<Transaction, "id" | "workspaceId" | "createdAtMs">;

/** A request that a charge is looked for of. */
export type ChargedRequest = Pick<IngestFields, "id" | "workspaceId" | "createdAtMs">;

/** A stretch of time: from the first moment to before the second. */
export type TimeSpan = { readonly fromMs: number; readonly toMs: number };

/** What is taken from promotional credit first: what requests cost, and what is corrected downwards by hand. */
export type SpendingKind = "charges" | "corrections";

/** What happened to a wallet in a stretch of time. */
export type StatementSums = {
  /** Its balance when the stretch began. */
  readonly openingNanos: bigint;
  /** By kind, and then up or down: an adjustment can be both. */
  readonly kinds: readonly {
    readonly kind: TransactionKind;
    readonly transactions: number;
    readonly inNanos: bigint;
    readonly outNanos: bigint;
  }[];
  /** What requests cost, by the model that served; an unknown one is an empty text. Whole days of UTC. */
  readonly models: readonly { readonly model: string; readonly requests: number; readonly nanos: bigint }[];
};

export type LedgerStore = {
  /** Writes once: a transaction id that exists already changes nothing and answers false. */
  post(transaction: Transaction): Promise<boolean>;
  /** Notes that a transaction gives back a part of another, and answers all that was given back of that one by now. */
  recordReturn(transactionId: string, source: ReturnSource): Promise<bigint>;
  /** What was given back of it by now: all of it, or what transactions of one kind gave. */
  returned(workspaceId: string, sourceId: string, kind?: TransactionKind): Promise<bigint>;
  /** The transactions of one kind that gave back of it. */
  returns(workspaceId: string, sourceId: string, kind: TransactionKind): Promise<Transaction[]>;
  /** A transaction that is no charge. */
  find(id: string): Promise<Transaction | undefined>;
  /** The charge of a request that began in this stretch of time. */
  findCharge(workspaceId: string, requestId: string, within: TimeSpan): Promise<Transaction | undefined>;
  /** The ids of those of these requests whose charges are in the ledger. */
  chargedRequestIds(requests: readonly ChargedRequest[]): Promise<ReadonlySet<string>>;
  /** What was taken from a wallet in each stretch of time. */
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
   * What is in the wallet after each entry of the same page, in the order of the entries' time. Kinds are not told
   * apart: between two entries that are shown there must be none that is not.
   */
  balances(
    workspaceId: string,
    limit: number,
    cursor: string | null,
    filter?: Omit<LedgerFilter, "kinds">,
  ): Promise<{ rows: BalancedEntry[]; next: string | null }>;
  /** What `gateway doctor` asks: broken invariants in words, none when the books balance. */
  audit(): Promise<string[]>;
};

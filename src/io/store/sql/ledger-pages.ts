import { type Kysely, type RawBuilder, sql } from "kysely";
import { z } from "zod";
import {
  ACCOUNTS,
  type BalancedEntry,
  entriesOf,
  type LedgerFilter,
  TRANSACTION_KINDS,
  type Transaction,
  walletNanosOf,
} from "../../../domain/billing/ledger.ts";
import { dayOf, dayStartMs } from "../../../kit/calendar.ts";
import type { PlanHints } from "./engine.ts";
import { decodeCursor, newestOf, pageSize, slicePage } from "./keyset-page.ts";
import { dayKey } from "./ledger-sums.ts";
import type { Database } from "./schema.ts";

type TransactionRow = Database["ledger_transactions"];

export type LedgerSource = { readonly reads: Kysely<Database>; readonly hints: PlanHints };

export async function transactionPage(
  source: LedgerSource,
  workspaceId: string,
  limit: number,
  cursor: string | null,
  filter: LedgerFilter = {},
): Promise<{ rows: Transaction[]; next: string | null }> {
  const size = pageSize(limit);
  const { rows } = await pageQuery(source, workspaceId, size, cursor, filter).execute(source.reads);
  const { page, next } = slicePage(rows, size, cursorOf);
  return { rows: page.map(toTransaction), next };
}

/**
 * The balance after the newest entry of the page is the current balance minus all later movements. One statement, so that a
 * concurrent entry is in both sums or in neither.
 */
export async function balancePage(
  source: LedgerSource,
  workspaceId: string,
  limit: number,
  cursor: string | null,
  filter: Omit<LedgerFilter, "kinds"> = {},
): Promise<{ rows: BalancedEntry[]; next: string | null }> {
  const size = pageSize(limit);
  const page = pageQuery(source, workspaceId, size, cursor, filter);
  const { untilMs = Infinity } = filter;
  const lastMs = Math.min(cursor === null ? Infinity : decodeCursor(cursor).atMs, untilMs);
  const { rows } = await sql<TransactionRow & { newest_nanos: bigint | null }>`
    with page as (${page}),
      newest as (select created_at_ms, id from page order by created_at_ms desc, id desc limit 1)
    select page.*, (select balance_nanos from wallets where workspace_id = ${workspaceId}) - coalesce((
      select cast(sum(nanos) as bigint) from (${movedAfterPage(workspaceId, lastMs)}) as later
    ), 0) as newest_nanos
    from page order by created_at_ms desc, id desc`.execute(source.reads);
  const cut = slicePage(rows, size, cursorOf);
  let balanceNanos = rows[0]?.newest_nanos ?? 0n;
  const balanced = cut.page.map((row) => {
    const transaction = toTransaction(row);
    const entry = { transaction, balanceNanos };
    balanceNanos -= walletNanosOf(transaction);
    return entry;
  });
  return { rows: balanced, next: cut.next };
}

/** Wallet movements after the newest entry of a page that ends by `lastMs`; none when the page is unbounded. */
function movedAfterPage(workspaceId: string, lastMs: number) {
  if (lastMs === Infinity) return sql`select 0 as nanos`;
  const nextDay = dayOf(lastMs) + 1;
  const moved = sql`case when to_account = 'wallet' then moved_nanos when from_account = 'wallet' then -moved_nanos else 0 end`;
  return sql`select ${moved} as nanos from ledger_transactions where workspace_id = ${workspaceId}
      and created_at_ms < ${dayStartMs(nextDay)}
      and (created_at_ms, id) > ((select created_at_ms from newest), (select id from newest))
    union all select ${moved} as nanos from ledger_transactions where workspace_id = ${workspaceId}
      and created_at_ms >= ${dayStartMs(nextDay)} and kind <> 'charge'
    union all select -cost_nanos as nanos from requests_daily
    where workspace_id = ${workspaceId} and day >= ${dayKey(nextDay)}`;
}

const cursorOf = (row: TransactionRow) => ({ atMs: row.created_at_ms, id: row.id });

/** Top-ups and refunds are few among very many charges. */
const BY_KIND = "ledger_transactions_by_kind";

/** Other kinds than charges are read from their index, one after the other, and merged by time. */
function pageQuery(
  { hints }: LedgerSource,
  workspaceId: string,
  size: number,
  cursor: string | null,
  { kinds, sinceMs = 0, untilMs }: LedgerFilter,
) {
  const before = cursor === null ? undefined : decodeCursor(cursor);
  const matching = (condition: RawBuilder<unknown>, hint = sql<unknown>``) => sql`
    select ledger_transactions.* from ledger_transactions ${hint}
    where workspace_id = ${workspaceId} and ${condition} and created_at_ms >= ${sinceMs}
      ${untilMs === undefined ? sql`` : sql`and created_at_ms < ${untilMs}`}
      ${before === undefined ? sql`` : sql`and (created_at_ms, id) < (${before.atMs}, ${before.id})`}`;
  // Written like the condition of the partial index, so that the planner uses it.
  const ofKind = (kind: string) =>
    matching(sql`kind = ${sql.lit(kind)} and kind <> 'charge'`, hints.indexedBy(BY_KIND));
  const arms =
    kinds === undefined || kinds.includes("charge") ? [matching(anyOf(kinds))] : [...new Set(kinds)].map(ofKind);
  return newestOf<TransactionRow>(hints, arms, size + 1);
}

function anyOf(kinds: LedgerFilter["kinds"]) {
  return kinds === undefined ? sql`1 = 1` : sql`kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`;
}

const account = z.enum(ACCOUNTS);
const kind = z.enum(TRANSACTION_KINDS);
const detailObject = z.record(z.string(), z.unknown());

export function toTransaction(row: TransactionRow): Transaction {
  const transfer = {
    from: account.parse(row.from_account),
    to: account.parse(row.to_account),
    currency: row.currency,
    nanos: row.moved_nanos,
  };
  return {
    id: row.id,
    kind: kind.parse(row.kind),
    workspaceId: row.workspace_id,
    createdAtMs: row.created_at_ms,
    note: row.note,
    detail: row.detail === null ? null : detailObject.parse(JSON.parse(row.detail)),
    entries: entriesOf(transfer, row.workspace_id),
  };
}

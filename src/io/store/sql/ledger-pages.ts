import { type Kysely, type SelectQueryBuilder, sql } from "kysely";
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
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import { dayKey } from "./ledger-sums.ts";
import type { Database } from "./schema.ts";

type TransactionRow = Database["ledger_transactions"];

export async function transactionPage(
  db: Kysely<Database>,
  workspaceId: string,
  limit: number,
  cursor: string | null,
  filter: LedgerFilter = {},
): Promise<{ rows: Transaction[]; next: string | null }> {
  const size = pageSize(limit);
  const rows = await pageQuery(db, workspaceId, size, cursor, filter).execute();
  const { page, next } = slicePage(rows, size, cursorOf);
  return { rows: page.map(toTransaction), next };
}

/**
 * The balance after the newest entry of the page is the current balance minus all later movements. One statement, so that a
 * concurrent entry is in both sums or in neither.
 */
export async function balancePage(
  db: Kysely<Database>,
  workspaceId: string,
  limit: number,
  cursor: string | null,
  filter: Omit<LedgerFilter, "kinds"> = {},
): Promise<{ rows: BalancedEntry[]; next: string | null }> {
  const size = pageSize(limit);
  const page = pageQuery(db, workspaceId, size, cursor, filter);
  const { untilMs = Infinity } = filter;
  const lastMs = Math.min(cursor === null ? Infinity : decodeCursor(cursor).atMs, untilMs);
  const { rows } = await sql<TransactionRow & { newest_nanos: bigint | null }>`
    with page as ${page},
      newest as (select created_at_ms, id from page order by created_at_ms desc, id desc limit 1)
    select page.*, (select balance_nanos from wallets where workspace_id = ${workspaceId}) - coalesce((
      select cast(sum(nanos) as bigint) from (${movedAfterPage(workspaceId, lastMs)}) as later
    ), 0) as newest_nanos
    from page order by created_at_ms desc, id desc`.execute(db);
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

function pageQuery(
  db: Kysely<Database>,
  workspaceId: string,
  size: number,
  cursor: string | null,
  filter: LedgerFilter,
): SelectQueryBuilder<Database, "ledger_transactions", TransactionRow> {
  const cursorPosition = cursor === null ? undefined : decodeCursor(cursor);
  return db
    .selectFrom("ledger_transactions")
    .selectAll()
    .where("workspace_id", "=", workspaceId)
    .where(filterOf(filter))
    .$if(cursorPosition !== undefined, (query) =>
      query.where(({ eb, refTuple, tuple }) =>
        eb(refTuple("created_at_ms", "id"), "<", tuple(cursorPosition?.atMs ?? 0, cursorPosition?.id ?? "")),
      ),
    )
    .orderBy("created_at_ms", "desc")
    .orderBy("id", "desc")
    .limit(size + 1);
}

function filterOf({ kinds, sinceMs, untilMs }: LedgerFilter) {
  const conditions = [sql<boolean>`1 = 1`];
  if (kinds !== undefined) conditions.push(sql`kind in (${sql.join(kinds.map((kind) => sql.lit(kind)))})`);
  if (sinceMs !== undefined) conditions.push(sql`created_at_ms >= ${sinceMs}`);
  if (untilMs !== undefined) conditions.push(sql`created_at_ms < ${untilMs}`);
  return sql<boolean>`(${sql.join(conditions, sql` and `)})`;
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

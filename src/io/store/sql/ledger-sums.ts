import { type Kysely, sql } from "kysely";
import { z } from "zod";
import {
  type SpendingKind,
  type StatementSums,
  type TimeSpan,
  TRANSACTION_KINDS,
  type TransactionKind,
} from "../../../domain/billing/ledger.ts";
import { dayName, dayOf, dayStartMs, parseDayName } from "../../../kit/calendar.ts";
import { DAY_MS } from "../../../kit/time.ts";
import type { Database } from "./schema.ts";

// PostgreSQL widens sums of bigint to numeric, so casts make the type explicit.

/** The returned amount. An expiry that took too much is corrected by a second one into the wallet. */
export const RETURNED_NANOS = sql`case when posted.kind = 'expiry' and posted.to_account = 'wallet'
  then -posted.moved_nanos else posted.moved_nanos end`;

export async function sumReturned(
  db: Kysely<Database>,
  workspaceId: string,
  sourceId: string,
  kind?: TransactionKind,
): Promise<bigint> {
  const only = kind === undefined ? sql`` : sql`and posted.kind = ${kind}`;
  const { rows } = await sql<{ given_nanos: bigint | null }>`
    select cast(sum(${RETURNED_NANOS}) as bigint) as given_nanos from ledger_returns as given
    join ledger_transactions as posted on posted.id = given.transaction_id and posted.kind <> 'charge'
    where given.source_id = ${sourceId} and given.workspace_id = ${workspaceId} ${only}`.execute(db);
  return rows[0]?.given_nanos ?? 0n;
}

const LAST_DAY = parseDayName("9999-12-31");

/** A day as ISO date, capped because later years would not compare as text. */
export function dayKey(day: number): string {
  return dayName(Math.min(day, LAST_DAY));
}

/**
 * Charges within a period. Whole days come from the roll-ups, which the audit verifies against the ledger; only the partial
 * days at both ends are read from the ledger.
 */
function chargesWithin(workspaceId: string, { fromMs, toMs }: TimeSpan) {
  const posted = (sinceMs: number, untilMs: number) => sql`
    select moved_nanos as nanos from ledger_transactions where workspace_id = ${workspaceId}
      and created_at_ms >= ${sinceMs} and created_at_ms < ${untilMs} and kind = 'charge'`;
  const firstDay = dayOf(fromMs + DAY_MS - 1);
  const endDay = dayOf(toMs);
  if (firstDay >= endDay) return posted(fromMs, toMs);
  return sql`${posted(fromMs, dayStartMs(firstDay))}
    union all select cost_nanos as nanos from requests_daily
    where workspace_id = ${workspaceId} and day >= ${dayKey(firstDay)} and day < ${dayKey(endDay)}
    union all ${posted(dayStartMs(endDay), toMs)}`;
}

/** Written like the condition of the partial index on non-charges, so that the planner uses it. */
function correctionsWithin(workspaceId: string, { fromMs, toMs }: TimeSpan) {
  return sql`select moved_nanos as nanos from ledger_transactions where workspace_id = ${workspaceId}
    and created_at_ms >= ${fromMs} and created_at_ms < ${toMs}
    and kind <> 'charge' and kind = 'adjustment' and from_account = 'wallet'`;
}

export async function sumSpending(
  db: Kysely<Database>,
  workspaceId: string,
  spending: SpendingKind,
  spans: readonly TimeSpan[],
): Promise<bigint[]> {
  const movements = spending === "charges" ? chargesWithin : correctionsWithin;
  const sums: bigint[] = [];
  for (const span of spans) {
    const { rows } = await sql<{ spent_nanos: bigint | null }>`
      select cast(sum(nanos) as bigint) as spent_nanos from (${movements(workspaceId, span)}) as taken`.execute(db);
    sums.push(rows[0]?.spent_nanos ?? 0n);
  }
  return sums;
}

type SumRow = {
  part: "before" | "kind" | "all" | "model";
  name: string;
  happened: number;
  in_nanos: bigint;
  out_nanos: bigint;
};

const kind = z.enum(TRANSACTION_KINDS);

/**
 * One statement, so that all sums are from one snapshot. The number of charges is the number of all transactions minus the
 * others, which needs the primary key only.
 */
export async function queryStatement(
  db: Kysely<Database>,
  workspaceId: string,
  { fromMs, toMs }: TimeSpan,
): Promise<StatementSums> {
  const ofWallet = (side: "to_account" | "from_account") =>
    sql`case when ${sql.ref(side)} = 'wallet' then moved_nanos else 0 end`;
  const sum = (column: string) => sql`coalesce(cast(sum(${sql.ref(column)}) as bigint), 0)`;
  const { rows } = await sql<SumRow>`
    with beside as (
      select created_at_ms, kind, ${ofWallet("to_account")} as in_nanos, ${ofWallet("from_account")} as out_nanos
      from ledger_transactions
      where workspace_id = ${workspaceId} and created_at_ms < ${toMs} and kind <> 'charge'
    )
    select 'before' as part, '' as name, 0 as happened, ${sum("in_nanos")} as in_nanos, ${sum("out_nanos")} as out_nanos
    from beside where created_at_ms < ${fromMs}
    union all
    select 'before' as part, '' as name, 0 as happened, 0 as in_nanos, ${sum("nanos")} as out_nanos
    from (${chargesWithin(workspaceId, { fromMs: 0, toMs: fromMs })}) as charged
    union all
    select 'kind' as part, kind as name, count(*) as happened,
      ${sum("in_nanos")} as in_nanos, ${sum("out_nanos")} as out_nanos
    from beside where created_at_ms >= ${fromMs} group by kind
    union all
    select 'all' as part, 'charge' as name, (
        select count(*) from ledger_transactions
        where workspace_id = ${workspaceId} and created_at_ms >= ${fromMs} and created_at_ms < ${toMs}
      ) as happened, 0 as in_nanos, ${sum("nanos")} as out_nanos
    from (${chargesWithin(workspaceId, { fromMs, toMs })}) as charged
    union all
    select 'model' as part, model as name, cast(sum(requests) as bigint) as happened,
      cast(0 as bigint) as in_nanos, ${sum("cost_nanos")} as out_nanos
    from requests_daily
    where workspace_id = ${workspaceId} and day >= ${dayKey(dayOf(fromMs))} and day < ${dayKey(dayOf(toMs))}
    group by model having sum(cost_nanos) <> 0`.execute(db);
  return toStatement(rows);
}

function toStatement(rows: readonly SumRow[]): StatementSums {
  const of = (part: SumRow["part"]) => rows.filter((row) => row.part === part);
  const beside = of("kind");
  const otherCount = beside.reduce((sum, { happened }) => sum + happened, 0);
  const charges = of("all").map((row) => ({ ...row, happened: row.happened - otherCount }));
  return {
    openingNanos: of("before").reduce((sum, { in_nanos, out_nanos }) => sum + in_nanos - out_nanos, 0n),
    kinds: [...beside, ...charges.filter(({ happened }) => happened > 0)].map((row) => ({
      kind: kind.parse(row.name),
      transactions: row.happened,
      inNanos: row.in_nanos,
      outNanos: row.out_nanos,
    })),
    models: of("model").map((row) => ({ model: row.name, requests: row.happened, nanos: row.out_nanos })),
  };
}

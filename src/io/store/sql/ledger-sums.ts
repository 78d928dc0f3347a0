import { type Kysely, sql } from "kysely";
import { z } from "zod";
import {
  type StatementSums,
  type TimeSpan,
  TRANSACTION_KINDS,
  type TransactionKind,
} from "../../../domain/billing/ledger.ts";
import { dayName, dayOf } from "../../../kit/calendar.ts";
import type { Database } from "./schema.ts";

// A sum is wider than what it adds up on some engines, so its width is said.

export async function returnedNanos(
  db: Kysely<Database>,
  workspaceId: string,
  sourceId: string,
  kind?: TransactionKind,
): Promise<bigint> {
  const only = kind === undefined ? sql`` : sql`and posted.kind = ${kind}`;
  const { rows } = await sql<{ given_nanos: bigint | null }>`
    select cast(sum(posted.moved_nanos) as bigint) as given_nanos from ledger_returns as given
    join ledger_transactions as posted on posted.id = given.transaction_id and posted.kind <> 'charge'
    where given.source_id = ${sourceId} and given.workspace_id = ${workspaceId} ${only}`.execute(db);
  return rows[0]?.given_nanos ?? 0n;
}

/** What is taken from promotional credit first: charges, and corrections by hand. */
export async function spentIn(
  db: Kysely<Database>,
  workspaceId: string,
  spans: readonly TimeSpan[],
): Promise<bigint[]> {
  const sums: bigint[] = [];
  for (const { fromMs, toMs } of spans) {
    const { rows } = await sql<{ spent_nanos: bigint | null }>`
      select cast(sum(moved_nanos) as bigint) as spent_nanos from ledger_transactions
      where workspace_id = ${workspaceId} and created_at_ms >= ${fromMs} and created_at_ms < ${toMs}
        and from_account = 'wallet' and kind in ('charge', 'adjustment')`.execute(db);
    sums.push(rows[0]?.spent_nanos ?? 0n);
  }
  return sums;
}

type SumRow = {
  part: string;
  name: string;
  happened: number;
  in_nanos: bigint;
  out_nanos: bigint;
};

const kind = z.enum(TRANSACTION_KINDS);

/** One statement, so that all its figures are of one moment although requests are being written. */
export async function statementOf(
  db: Kysely<Database>,
  workspaceId: string,
  { fromMs, toMs }: TimeSpan,
): Promise<StatementSums> {
  const walletSum = (side: "to_account" | "from_account") =>
    sql`cast(sum(case when ${sql.ref(side)} = 'wallet' then moved_nanos else 0 end) as bigint)`;
  const { rows } = await sql<SumRow>`
    select 'before' as part, '' as name, count(*) as happened,
      coalesce(${walletSum("to_account")}, 0) as in_nanos, coalesce(${walletSum("from_account")}, 0) as out_nanos
    from ledger_transactions where workspace_id = ${workspaceId} and created_at_ms < ${fromMs}
    union all
    select 'kind' as part, kind as name, count(*) as happened,
      ${walletSum("to_account")} as in_nanos, ${walletSum("from_account")} as out_nanos
    from ledger_transactions
    where workspace_id = ${workspaceId} and created_at_ms >= ${fromMs} and created_at_ms < ${toMs} group by kind
    union all
    select 'model' as part, model as name, cast(sum(requests) as bigint) as happened,
      cast(0 as bigint) as in_nanos, cast(sum(cost_nanos) as bigint) as out_nanos
    from requests_daily
    where workspace_id = ${workspaceId} and day >= ${dayName(dayOf(fromMs))} and day < ${dayName(dayOf(toMs))}
    group by model having sum(cost_nanos) <> 0`.execute(db);
  const before = rows.find(({ part }) => part === "before");
  return {
    openingNanos: (before?.in_nanos ?? 0n) - (before?.out_nanos ?? 0n),
    kinds: rows
      .filter(({ part }) => part === "kind")
      .map((row) => ({
        kind: kind.parse(row.name),
        transactions: row.happened,
        inNanos: row.in_nanos,
        outNanos: row.out_nanos,
      })),
    models: rows
      .filter(({ part }) => part === "model")
      .map((row) => ({ model: row.name, requests: row.happened, nanos: row.out_nanos })),
  };
}

import { type Kysely, sql } from "kysely";
import { pluralize } from "../../../kit/pluralize.ts";
import { DAY_MS } from "../../../kit/time.ts";
import type { Database } from "./schema.ts";
import { USAGE_COLUMNS } from "./usage-columns.ts";

const ROWS_REPORTED_MAX = 20;

type SumSource = "daily" | "hourly" | "ledger";
type WorkspaceDay = { readonly workspace_id: string; readonly day_ms: number };
export type DaySums = WorkspaceDay & Readonly<Record<(typeof USAGE_COLUMNS)[number], number | bigint>>;

/** Whole days of one workspace. */
export type WorkspaceDays = { readonly workspaceId: string; readonly fromMs: number; readonly toMs: number };

/** Compares daily roll-ups, hourly roll-ups, ledger charges and log rows with each other. */
export const ROLLUP_INVARIANTS = [mismatchedDays, uncountedRows, chargedFreeRows] as const;

/** Workspace by workspace: the sums of all at once would keep the event loop. */
async function mismatchedDays(db: Kysely<Database>): Promise<string[]> {
  const found: string[] = [];
  for (let id = await nextWorkspace(db, ""); id !== null; id = await nextWorkspace(db, id)) {
    const { violations } = await compareDays(db, { workspaceId: id, fromMs: 0, toMs: LAST_MS });
    found.push(...violations);
    if (found.length >= ROWS_REPORTED_MAX) break;
  }
  return found.slice(0, ROWS_REPORTED_MAX);
}

/** The end of the year 9999: later days do not compare as text. */
const LAST_MS = Date.UTC(9999, 11, 31) + DAY_MS;

/** The first workspace after this one, with a seek in each table. */
async function nextWorkspace(db: Kysely<Database>, after: string): Promise<string | null> {
  const { rows } = await sql<{ id: string | null }>`
    select min(id) as id from (
      select min(workspace_id) as id from requests_daily where workspace_id > ${after}
      union all select min(workspace_id) from requests_hourly where workspace_id > ${after}
      union all select min(workspace_id) from ledger_transactions where workspace_id > ${after}
    ) as next`.execute(db);
  return rows[0]?.id ?? null;
}

type ComparedDays = { readonly violations: readonly string[]; readonly daily: readonly DaySums[] };

/** In one statement, so that a concurrent request is in all sums or in none. */
export async function compareDays(db: Kysely<Database>, days: WorkspaceDays): Promise<ComparedDays> {
  const { daily, hourly, ledger } = await sumsByDay(db, days);
  const violations = [
    ...differences("requests_hourly", daily, hourly, USAGE_COLUMNS),
    ...differences("the ledger: statements go by the first, wallets by the second", daily, ledger, ["cost_nanos"]),
  ];
  return { violations, daily };
}

async function sumsByDay(db: Kysely<Database>, days: WorkspaceDays): Promise<Record<SumSource, DaySums[]>> {
  const { workspaceId, fromMs, toMs } = days;
  const summed = sql.join(USAGE_COLUMNS.map((name) => sql`cast(sum(${sql.ref(name)}) as bigint) as ${sql.ref(name)}`));
  // The ledger has only the cost.
  const charged = sql`cast(sum(moved_nanos) as bigint)`;
  const posted = sql.join(
    USAGE_COLUMNS.map((name) => sql`${name === "cost_nanos" ? charged : sql`0`} as ${sql.ref(name)}`),
  );
  const dayOf = (column: string) => sql`${sql.ref(column)} - ${sql.ref(column)} % ${sql.lit(DAY_MS)}`;
  const { rows } = await sql<DaySums & { side: SumSource; day: string }>`
    select 'daily' as side, workspace_id, day, 0 as day_ms, ${summed} from requests_daily
    where workspace_id = ${workspaceId} and day >= ${dayText(fromMs)} and day <= ${dayText(toMs - 1)}
    group by workspace_id, day
    union all
    select 'hourly' as side, workspace_id, '' as day, ${dayOf("hour_ms")} as day_ms, ${summed}
    from requests_hourly where workspace_id = ${workspaceId} and hour_ms >= ${fromMs} and hour_ms < ${toMs}
    group by workspace_id, ${dayOf("hour_ms")}
    union all
    select 'ledger' as side, workspace_id, '' as day, ${dayOf("created_at_ms")} as day_ms, ${posted}
    from ledger_transactions
    where workspace_id = ${workspaceId} and created_at_ms >= ${fromMs} and created_at_ms < ${toMs} and kind = 'charge'
    group by workspace_id, ${dayOf("created_at_ms")}`.execute(db);
  const sides: Record<SumSource, DaySums[]> = { daily: [], hourly: [], ledger: [] };
  for (const row of rows) sides[row.side].push(row.side === "daily" ? { ...row, day_ms: Date.parse(row.day) } : row);
  return sides;
}

/** The rows of a table within these days; all rows without them. */
export function within(days: WorkspaceDays | undefined, table: string) {
  if (days === undefined) return sql`true`;
  const [workspace, time] = [sql.ref(`${table}.workspace_id`), sql.ref(`${table}.created_at_ms`)];
  return sql`${workspace} = ${days.workspaceId} and ${time} >= ${days.fromMs} and ${time} < ${days.toMs}`;
}

/** Expired rows leave the log, so it may have fewer rows than counted, but never more. */
export async function uncountedRows(db: Kysely<Database>, days?: WorkspaceDays): Promise<string[]> {
  const { rows } = await sql<{ workspace_id: string; hour_ms: number; times: number; counted: number }>`
    with logged as (
      select workspace_id, created_at_ms - created_at_ms % 3600000 as hour_ms, shape, count(*) as times
      from request_records where ${within(days, "request_records")}
      group by workspace_id, created_at_ms - created_at_ms % 3600000, shape
    )
    select logged.workspace_id, logged.hour_ms, logged.times, coalesce(counted.requests, 0) as counted
    from logged left join requests_hourly as counted on counted.workspace_id = logged.workspace_id
      and counted.hour_ms = logged.hour_ms and counted.shape = logged.shape
    where logged.times > coalesce(counted.requests, 0) limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map(
    (row) =>
      `the log of ${row.workspace_id} has ${pluralize(Number(row.times), "request")} of one kind in the hour of ${isoTime(row.hour_ms)}, but requests_hourly has ${row.counted}`,
  );
}

export async function chargedFreeRows(db: Kysely<Database>, days?: WorkspaceDays): Promise<string[]> {
  const { rows } = await sql<{ id: string; moved_nanos: bigint }>`
    select requests.id, posted.moved_nanos from requests join ledger_transactions as posted
      on posted.workspace_id = requests.workspace_id and posted.created_at_ms = requests.created_at_ms
      and posted.id = 'charge:' || requests.id
    where ${within(days, "requests")} and coalesce(requests.charge_nanos, 0) = 0
    limit ${sql.lit(ROWS_REPORTED_MAX)}`.execute(db);
  return rows.map((row) => `request ${row.id} is free in the log, but charged ${row.moved_nanos} in the ledger`);
}

function differences<Name extends string>(
  what: string,
  daily: readonly (WorkspaceDay & Readonly<Record<Name, number | bigint>>)[],
  others: readonly (WorkspaceDay & Readonly<Record<Name, number | bigint>>)[],
  names: readonly Name[],
): string[] {
  const dayLabel = ({ workspace_id, day_ms }: WorkspaceDay) => `${workspace_id} on ${dayText(day_ms)}`;
  const othersByDay = new Map(others.map((row) => [dayLabel(row), row]));
  const found: string[] = [];
  const compare = (label: string, name: Name, one: number | bigint, other: number | bigint) => {
    if (BigInt(one) !== BigInt(other))
      found.push(`${name} of ${label} is ${one} in requests_daily but ${other} in ${what}`);
  };
  for (const row of daily) {
    const label = dayLabel(row);
    const other = othersByDay.get(label);
    othersByDay.delete(label);
    for (const name of names) compare(label, name, row[name], other?.[name] ?? 0);
  }
  for (const [label, row] of othersByDay) for (const name of names) compare(label, name, 0, row[name]);
  return found.slice(0, ROWS_REPORTED_MAX);
}

function dayText(ms: number): string {
  return isoTime(ms).slice(0, 10);
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

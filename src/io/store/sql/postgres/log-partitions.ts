import { type Kysely, sql } from "kysely";
import { DAY_MS, HOUR_MS } from "../../../../kit/time.ts";
import type { LogPartitions } from "../engine.ts";
import type { Database } from "../schema.ts";

/** Up to this retention partitions are daily, so that whole days are dropped; beyond it they are monthly. */
const DAILY_RETENTION_DAYS_MAX = 100;
const DAYS_AHEAD = 7;
const PARTITIONS_MAX = 500;
const MONTH_AHEAD_MS = 31 * DAY_MS;

type PartitionSpan = { readonly fromMs: number; readonly toMs: number };
type PartitionBounds = { readonly from_ms: number | null; readonly to_ms: number | null };

const usesDailyPartitions = (retentionMs: number | null) =>
  retentionMs !== null && retentionMs <= DAILY_RETENTION_DAYS_MAX * DAY_MS;

/** `retentionMs` is null for unlimited retention. */
export function logPartitions(db: Kysely<Database>, retentionMs: number | null): LogPartitions {
  const isDaily = usesDailyPartitions(retentionMs);
  let preparedAtMs: number | undefined;
  return {
    async prepare(time) {
      const nowMs = Math.trunc(time);
      if (preparedAtMs !== undefined && Math.abs(nowMs - preparedAtMs) < HOUR_MS) return;
      // Including yesterday: older requests may still be in a journal.
      const wanted = isDaily
        ? daysOf({ fromMs: nowMs - DAY_MS, toMs: nowMs + DAYS_AHEAD * DAY_MS })
        : monthsOf({ fromMs: nowMs - DAY_MS, toMs: nowMs + MONTH_AHEAD_MS });
      for (const span of missingSpans(wanted, await readPartitions(db))) await addPartition(db, span);
      preparedAtMs = nowMs;
    },

    async dropBefore(beforeMs) {
      const parts = await readPartitions(db);
      if (parts.some(({ to_ms }) => to_ms !== null && to_ms <= beforeMs))
        await sql`select request_log_drop(${Math.trunc(beforeMs)})`.execute(db);
      const boundary = parts.find(
        ({ from_ms, to_ms }) => (from_ms ?? -Infinity) <= beforeMs && beforeMs < (to_ms ?? Infinity),
      );
      if (boundary?.from_ms == null || boundary.to_ms === null)
        return { restBeforeMs: beforeMs, lookBeforeMs: boundary?.to_ms ?? beforeMs };
      // A partially expired day is dropped as a whole one day later, which leaves no dead rows to vacuum.
      if (boundary.to_ms - boundary.from_ms <= DAY_MS)
        return { restBeforeMs: boundary.from_ms, lookBeforeMs: boundary.from_ms };
      return { restBeforeMs: beforeMs, lookBeforeMs: boundary.to_ms };
    },
  };
}

/** Partitions for requests of these days, at most `PARTITIONS_MAX`; older days share the default partition. */
export async function addPartitionsFor(
  db: Kysely<Database>,
  retentionMs: number | null,
  daysMs: readonly number[],
): Promise<void> {
  const spans = daysMs.flatMap((fromMs) => {
    const day = { fromMs, toMs: fromMs + DAY_MS };
    return usesDailyPartitions(retentionMs) ? [day] : monthsOf(day);
  });
  const starts = new Map(spans.filter(({ fromMs }) => fromMs >= 0).map((span) => [span.fromMs, span]));
  const newest = [...starts.values()].toSorted((a, b) => b.fromMs - a.fromMs).slice(0, PARTITIONS_MAX);
  for (const span of newest) await addPartition(db, span);
}

async function readPartitions(db: Kysely<Database>): Promise<PartitionBounds[]> {
  const { rows } = await sql<PartitionBounds>`
    select from_ms, to_ms from request_log_parts where from_ms is not null or to_ms is not null`.execute(db);
  return rows;
}

async function addPartition(db: Kysely<Database>, { fromMs, toMs }: PartitionSpan): Promise<void> {
  await sql`select request_log_add(${fromMs}, ${toMs})`.execute(db);
}

/** Spans without a partition. A partially covered month is split into days. */
function missingSpans(wanted: readonly PartitionSpan[], parts: readonly PartitionBounds[]): PartitionSpan[] {
  return wanted.flatMap((span) => {
    const isCovered = parts.some(
      ({ from_ms, to_ms }) => (from_ms ?? -Infinity) < span.toMs && (to_ms ?? Infinity) > span.fromMs,
    );
    if (!isCovered) return [span];
    return span.toMs - span.fromMs > DAY_MS ? missingSpans(daysOf(span), parts) : [];
  });
}

function daysOf({ fromMs, toMs }: PartitionSpan): PartitionSpan[] {
  const days: PartitionSpan[] = [];
  for (let startMs = fromMs - (fromMs % DAY_MS); startMs < toMs; startMs += DAY_MS)
    days.push({ fromMs: startMs, toMs: startMs + DAY_MS });
  return days;
}

function monthsOf({ fromMs, toMs }: PartitionSpan): PartitionSpan[] {
  const months: PartitionSpan[] = [];
  const first = new Date(fromMs);
  for (let month = first.getUTCMonth(); ; month += 1) {
    const [from, to] = [month, month + 1].map((number) => Date.UTC(first.getUTCFullYear(), number));
    if (from === undefined || to === undefined || from >= toMs) return months;
    months.push({ fromMs: from, toMs: to });
  }
}

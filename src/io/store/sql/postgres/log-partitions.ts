import { type Kysely, sql } from "kysely";
import { DAY_MS, HOUR_MS } from "../../../../kit/time.ts";
import type { LogPartitions } from "../engine.ts";
import type { Database } from "../schema.ts";

/** A log that is kept no longer is in days, so that what is old leaves as a whole; a longer one is in months. */
const DAILY_RETENTION_DAYS_MAX = 100;
const DAYS_AHEAD = 7;
const PARTITIONS_MAX = 500;
const MONTH_AHEAD_MS = 31 * DAY_MS;

type PartitionSpan = { readonly fromMs: number; readonly toMs: number };
type PartitionBounds = { readonly from_ms: number | null; readonly to_ms: number | null };

const usesDailyPartitions = (keepMs: number | null) => keepMs !== null && keepMs <= DAILY_RETENTION_DAYS_MAX * DAY_MS;

/** `keepMs`: how long requests are kept, null for ever. */
export function logPartitions(db: Kysely<Database>, keepMs: number | null): LogPartitions {
  const inDays = usesDailyPartitions(keepMs);
  let lookedAtMs: number | undefined;
  return {
    async prepare(time) {
      const nowMs = Math.trunc(time);
      if (lookedAtMs !== undefined && Math.abs(nowMs - lookedAtMs) < HOUR_MS) return;
      // Before the time too: requests that ended a while ago may still be in a journal.
      const wanted = inDays
        ? daysOf({ fromMs: nowMs - DAY_MS, toMs: nowMs + DAYS_AHEAD * DAY_MS })
        : monthsOf({ fromMs: nowMs - DAY_MS, toMs: nowMs + MONTH_AHEAD_MS });
      for (const span of missingSpans(wanted, await readPartitions(db))) await addPartition(db, span);
      lookedAtMs = nowMs;
    },

    async dropBefore(beforeMs) {
      const parts = await readPartitions(db);
      if (parts.some(({ to_ms }) => to_ms !== null && to_ms <= beforeMs))
        await sql`select request_log_drop(${Math.trunc(beforeMs)})`.execute(db);
      const at = parts.find(
        ({ from_ms, to_ms }) => (from_ms ?? -Infinity) <= beforeMs && beforeMs < (to_ms ?? Infinity),
      );
      if (at?.from_ms == null || at.to_ms === null)
        return { restBeforeMs: beforeMs, lookBeforeMs: at?.to_ms ?? beforeMs };
      // A day that is not over waits until it is: it is gone within a day, and without a trace for the vacuum.
      if (at.to_ms - at.from_ms <= DAY_MS) return { restBeforeMs: at.from_ms, lookBeforeMs: at.from_ms };
      return { restBeforeMs: beforeMs, lookBeforeMs: at.to_ms };
    },
  };
}

/** Partitions for requests of these days, the newest of them where there are very many; others are kept together. */
export async function addPartitionsFor(
  db: Kysely<Database>,
  keepMs: number | null,
  daysMs: readonly number[],
): Promise<void> {
  const spans = daysMs.flatMap((fromMs) => {
    const day = { fromMs, toMs: fromMs + DAY_MS };
    return usesDailyPartitions(keepMs) ? [day] : monthsOf(day);
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

/** What no partition covers. A month of which a part is covered is taken day by day. */
function missingSpans(wanted: readonly PartitionSpan[], parts: readonly PartitionBounds[]): PartitionSpan[] {
  return wanted.flatMap((span) => {
    const meets = parts.some(
      ({ from_ms, to_ms }) => (from_ms ?? -Infinity) < span.toMs && (to_ms ?? Infinity) > span.fromMs,
    );
    if (!meets) return [span];
    return span.toMs - span.fromMs > DAY_MS ? missingSpans(daysOf(span), parts) : [];
  });
}

function daysOf({ fromMs, toMs }: PartitionSpan): PartitionSpan[] {
  const days: PartitionSpan[] = [];
  for (let at = fromMs - (fromMs % DAY_MS); at < toMs; at += DAY_MS) days.push({ fromMs: at, toMs: at + DAY_MS });
  return days;
}

function monthsOf({ fromMs, toMs }: PartitionSpan): PartitionSpan[] {
  const months: PartitionSpan[] = [];
  const first = new Date(fromMs);
  for (let month = first.getUTCMonth(); ; month += 1) {
    const [from, to] = [month, month + 1].map((at) => Date.UTC(first.getUTCFullYear(), at));
    if (from === undefined || to === undefined || from >= toMs) return months;
    months.push({ fromMs: from, toMs: to });
  }
}

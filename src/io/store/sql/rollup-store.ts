import { type Kysely, sql } from "kysely";
import { z } from "zod";
import {
  type DailyUsage,
  REQUEST_SKETCHES,
  type RollupStore,
  type UsageGroup,
  type UsageQuery,
  type UsageSketchRow,
  type UsageSums,
} from "../../../domain/record/usage-sums.ts";
import { emptySketches, mergeEncoded } from "../../../kit/quantile-sketch.ts";
import { keyUsage } from "./key-usage.ts";
import { shapeCondition } from "./log-query.ts";
import type { Database } from "./schema.ts";
import type { UsageColumns } from "./usage-columns.ts";

export function rollupStore(reads: Kysely<Database>): RollupStore {
  return {
    keyUsage: (workspaceId, keyIds, sinceDay) => keyUsage(reads, workspaceId, keyIds, sinceDay),

    async spendSince(day, workspaceIds) {
      if (workspaceIds?.length === 0) return [];
      // Joined through workspaces, because the index on days starts with the workspace. PostgreSQL widens sums of bigint to
      // numeric, so the type is explicit.
      const rows = await reads
        .selectFrom("workspaces")
        .innerJoin("requests_daily", "requests_daily.workspace_id", "workspaces.id")
        .where("requests_daily.day", ">=", day)
        .$if(workspaceIds !== undefined, (query) => query.where("workspaces.id", "in", workspaceIds ?? []))
        .groupBy(["requests_daily.workspace_id", "requests_daily.key_id", "requests_daily.day"])
        .select(["requests_daily.workspace_id", "requests_daily.key_id", "requests_daily.day"])
        .select(sql<bigint>`cast(sum(requests_daily.cost_nanos) as bigint)`.as("spent_nanos"))
        .execute();
      return rows.map((row) => ({
        workspaceId: row.workspace_id,
        keyId: row.key_id,
        day: row.day,
        nanos: row.spent_nanos,
      }));
    },

    async daily(workspaceId, fromDay, toDay) {
      const rows = await reads
        .selectFrom("requests_daily")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("day", ">=", fromDay)
        .where("day", "<=", toDay)
        .orderBy("day")
        .orderBy("key_id")
        .orderBy("model")
        .orderBy("provider")
        .orderBy("environment")
        .execute();
      return rows.map(toDaily);
    },

    async usage(workspaceId, { fromMs, toMs, stepMs, group, filter }, rowsMax) {
      // Aggregated by shape first, so that shapes are joined once per step and not once per hour.
      const steps = reads
        .selectFrom("requests_hourly")
        .where("workspace_id", "=", workspaceId)
        .where("hour_ms", ">=", fromMs)
        .where("hour_ms", "<", toMs)
        .select(["shape", sql<number>`hour_ms - hour_ms % ${sql.lit(stepMs)}`.as("start_ms")])
        .select(SUMS)
        .groupBy([sql`1`, sql`2`])
        .as("steps");
      const rows = await reads
        .selectFrom(steps)
        .innerJoin("request_shapes", "request_shapes.id", "steps.shape")
        .where(shapeCondition(workspaceId, filter))
        .select(["steps.start_ms", groupName(group).as("name")])
        .select(SUMS)
        .groupBy([sql`1`, sql`2`])
        .orderBy(sql`1`)
        .orderBy(sql`2`)
        .limit(rowsMax)
        .execute();
      return rows.map((row) => ({ startMs: row.start_ms, name: row.name, ...sumsOf(row) }));
    },

    usageSketches: (workspaceId, query) => mergeUsageSketches(reads, workspaceId, query),
  };
}

/** Rows per query: decoding a page keeps the event loop for a few milliseconds. */
const SKETCH_ROWS_PER_PAGE = 2_000;

async function mergeUsageSketches(
  db: Kysely<Database>,
  workspaceId: string,
  { fromMs, toMs, stepMs, group, filter }: UsageQuery,
): Promise<UsageSketchRow[]> {
  const merged = new Map<string, UsageSketchRow>();
  let after = { hourMs: fromMs, shape: -1 };
  for (;;) {
    const rows = await db
      .selectFrom("requests_hourly")
      .innerJoin("request_shapes", (join) =>
        join
          .onRef("request_shapes.workspace_id", "=", "requests_hourly.workspace_id")
          .onRef("request_shapes.id", "=", "requests_hourly.shape"),
      )
      .where("requests_hourly.workspace_id", "=", workspaceId)
      .where(({ eb, refTuple, tuple }) => eb(refTuple("hour_ms", "shape"), ">", tuple(after.hourMs, after.shape)))
      .where("hour_ms", "<", toMs)
      .where("sketches", "is not", null)
      .where(shapeCondition(workspaceId, filter))
      .select(["hour_ms", "shape", "sketches", groupName(group).as("name")])
      .orderBy("hour_ms")
      .orderBy("shape")
      .limit(SKETCH_ROWS_PER_PAGE)
      .execute();
    for (const { hour_ms, name, sketches } of rows) {
      const startMs = hour_ms - (hour_ms % stepMs);
      const key = `${startMs} ${name}`;
      const row = merged.get(key) ?? { startMs, name, sketches: emptySketches(REQUEST_SKETCHES.length) };
      merged.set(key, row);
      if (sketches !== null) mergeEncoded(row.sketches, sketches);
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < SKETCH_ROWS_PER_PAGE) return [...merged.values()];
    after = { hourMs: last.hour_ms, shape: last.shape };
  }
}

function groupName(group: UsageGroup | null) {
  return group === null ? sql<string>`cast('' as text)` : sql<string>`cast(${sql.ref(GROUP_COLUMNS[group])} as text)`;
}

const GROUP_COLUMNS: Readonly<Record<UsageGroup, string>> = {
  key: "request_shapes.key_id",
  member: "request_shapes.member_id",
  model: "request_shapes.model",
  provider: "request_shapes.provider",
  level: "request_shapes.level",
  country: "request_shapes.country",
  app: "request_shapes.app",
  environment: "request_shapes.environment",
  status: "request_shapes.status",
};

/** PostgreSQL widens sums of bigint to numeric, so the type is explicit. */
function sum<Name extends string>(name: Name) {
  return sql<number>`cast(sum(${sql.ref(name)}) as bigint)`.as(name);
}

const SUMS = [
  sum("requests"),
  sum("errors"),
  sum("input_tokens"),
  sum("cached_tokens"),
  sum("cache_write_tokens"),
  sum("output_tokens"),
  sum("reasoning_tokens"),
  sum("characters"),
  sum("audio_ms"),
  sql<bigint>`cast(sum(cost_nanos) as bigint)`.as("cost_nanos"),
  sum("timed"),
  sum("total_ms"),
  sum("streamed"),
  sum("first_byte_ms"),
] as const;

const environment = z.enum(["live", "test"]);

function toDaily(row: Database["requests_daily"]): DailyUsage {
  return {
    workspaceId: row.workspace_id,
    day: row.day,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    environment: environment.parse(row.environment),
    ...sumsOf(row),
  };
}

function sumsOf(row: UsageColumns): UsageSums {
  return {
    requests: row.requests,
    errors: row.errors,
    inputTokens: row.input_tokens,
    cachedTokens: row.cached_tokens,
    cacheWriteTokens: row.cache_write_tokens,
    outputTokens: row.output_tokens,
    reasoningTokens: row.reasoning_tokens,
    characters: row.characters,
    audioMs: row.audio_ms,
    costNanos: row.cost_nanos,
    timedRequests: row.timed,
    totalMs: row.total_ms,
    streamedRequests: row.streamed,
    firstByteMs: row.first_byte_ms,
  };
}

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
import { emptySketches } from "../../../kit/quantile-sketch.ts";
import { HOUR_MS } from "../../../kit/time.ts";
import type { PlanHints } from "./engine.ts";
import { keyUsage } from "./key-usage.ts";
import { shapeCondition } from "./log-query.ts";
import type { Database } from "./schema.ts";
import { mergeFrames } from "./sketch-frames.ts";
import type { UsageColumns } from "./usage-columns.ts";

export function rollupStore(reads: Kysely<Database>, hints: PlanHints): RollupStore {
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

    async usage(workspaceId, query, rowsMax) {
      const rows = await hourlyByStep(reads, workspaceId, query)
        .select(SUMS)
        .orderBy(sql`1`)
        .orderBy(sql`2`)
        .limit(rowsMax)
        .execute();
      return rows.map((row) => ({ startMs: row.start_ms, name: row.name, ...sumsOf(row) }));
    },

    usageSketches: (workspaceId, query) => mergeUsageSketches(reads, hints, workspaceId, query),
  };
}

/** Hourly roll-ups by time step and group value. */
function hourlyByStep(db: Kysely<Database>, workspaceId: string, query: UsageQuery) {
  const { fromMs, toMs, stepMs, group, filter } = query;
  return db
    .selectFrom("requests_hourly")
    .innerJoin("request_shapes", (join) =>
      join
        .onRef("request_shapes.workspace_id", "=", "requests_hourly.workspace_id")
        .onRef("request_shapes.id", "=", "requests_hourly.shape"),
    )
    .where("requests_hourly.workspace_id", "=", workspaceId)
    .where("hour_ms", ">=", fromMs)
    .where("hour_ms", "<", toMs)
    .where(shapeCondition(workspaceId, filter))
    .select([sql<number>`hour_ms - hour_ms % ${sql.lit(stepMs)}`.as("start_ms"), groupName(group).as("name")])
    .groupBy([sql`1`, sql`2`]);
}

/** Hours per statement, so that its result stays small. */
const SKETCH_HOURS = 10 * 24;

/** The engine merges or joins the sketches of a step, because one row for each hour would keep the event loop. */
async function mergeUsageSketches(
  db: Kysely<Database>,
  hints: PlanHints,
  workspaceId: string,
  query: UsageQuery,
): Promise<UsageSketchRow[]> {
  const merged = new Map<string, UsageSketchRow>();
  for (let fromMs = query.fromMs; fromMs < query.toMs; fromMs += SKETCH_HOURS * HOUR_MS) {
    const toMs = Math.min(query.toMs, fromMs + SKETCH_HOURS * HOUR_MS);
    const rows = await hourlyByStep(db, workspaceId, { ...query, fromMs, toMs })
      .where("sketches", "is not", null)
      .select(hints.sketches.as("sketches"))
      .execute();
    for (const { start_ms: startMs, name, sketches } of rows) {
      const key = `${startMs} ${name}`;
      const row = merged.get(key) ?? { startMs, name, sketches: emptySketches(REQUEST_SKETCHES.length) };
      merged.set(key, row);
      if (sketches !== null) mergeFrames(row.sketches, sketches);
    }
  }
  return [...merged.values()];
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
  data_class: "request_shapes.data_classes",
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

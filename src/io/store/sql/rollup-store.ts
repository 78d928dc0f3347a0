import { type Kysely, sql } from "kysely";
import { z } from "zod";
import type { DailyUsage, RollupStore, UsageGroup, UsageSums } from "../../../domain/record/usage-sums.ts";
import { keyUsage } from "./key-usage.ts";
import { shapeCondition } from "./log-query.ts";
import type { Database } from "./schema.ts";

export function rollupStore(db: Kysely<Database>): RollupStore {
  return {
    keyUsage: (workspaceId, keyIds, sinceDay) => keyUsage(db, workspaceId, keyIds, sinceDay),

    async spendSince(day) {
      // Joined through workspaces, because the index on days starts with the workspace. PostgreSQL widens sums of bigint to
      // numeric, so the type is explicit.
      const rows = await db
        .selectFrom("workspaces")
        .innerJoin("requests_daily", "requests_daily.workspace_id", "workspaces.id")
        .where("requests_daily.day", ">=", day)
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
      const rows = await db
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
      const steps = db
        .selectFrom("requests_hourly")
        .where("workspace_id", "=", workspaceId)
        .where("hour_ms", ">=", fromMs)
        .where("hour_ms", "<", toMs)
        .select(["shape", sql<number>`hour_ms - hour_ms % ${sql.lit(stepMs)}`.as("start_ms")])
        .select(SUMS)
        .groupBy([sql`1`, sql`2`])
        .as("steps");
      const name =
        group === null ? sql<string>`cast('' as text)` : sql<string>`cast(${sql.ref(GROUP_COLUMNS[group])} as text)`;
      const rows = await db
        .selectFrom(steps)
        .innerJoin("request_shapes", "request_shapes.id", "steps.shape")
        .where(shapeCondition(workspaceId, filter))
        .select(["steps.start_ms", name.as("name")])
        .select(SUMS)
        .groupBy([sql`1`, sql`2`])
        .orderBy(sql`1`)
        .orderBy(sql`2`)
        .limit(rowsMax)
        .execute();
      return rows.map((row) => ({ startMs: row.start_ms, name: row.name, ...sumsOf(row) }));
    },
  };
}

const GROUP_COLUMNS: Readonly<Record<UsageGroup, string>> = {
  key: "request_shapes.key_id",
  member: "request_shapes.member_id",
  model: "request_shapes.model",
  provider: "request_shapes.provider",
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

type SumColumns = Pick<
  Database["requests_hourly"],
  | "requests"
  | "errors"
  | "input_tokens"
  | "cached_tokens"
  | "cache_write_tokens"
  | "output_tokens"
  | "reasoning_tokens"
  | "characters"
  | "audio_ms"
  | "cost_nanos"
  | "timed"
  | "total_ms"
  | "streamed"
  | "first_byte_ms"
>;

function sumsOf(row: SumColumns): UsageSums {
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

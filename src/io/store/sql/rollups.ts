import { type Kysely, sql } from "kysely";
import { z } from "zod";
import type { DailyUsage, RollupStore } from "../../../domain/record/rollup.ts";
import type { Database } from "./schema.ts";

export function rollupStore(db: Kysely<Database>): RollupStore {
  return {
    async spentSince(day) {
      // By way of the workspaces, because days are found within one of them. A sum is wider than what it adds up on
      // some engines, so its width is said.
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
  };
}

const environment = z.enum(["live", "test"]);

function toDaily(row: Database["requests_daily"]): DailyUsage {
  return {
    workspaceId: row.workspace_id,
    day: row.day,
    keyId: row.key_id,
    model: row.model,
    provider: row.provider,
    environment: environment.parse(row.environment),
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
  };
}

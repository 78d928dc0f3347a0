import { type Kysely, sql } from "kysely";
import { REJECTED_KEY_STATUS } from "../../../domain/record/record.ts";
import type { KeyUsage } from "../../../domain/record/usage-sums.ts";
import type { Database } from "./schema.ts";

/**
 * Usage of a page of keys, in three queries for all of them: totals from the daily roll-ups, minus rejected calls, which only
 * the hourly roll-ups distinguish, and the newest request of each shape, which is one index lookup.
 */
export async function keyUsage(
  db: Kysely<Database>,
  workspaceId: string,
  keyIds: readonly string[],
  sinceDay: string,
): Promise<KeyUsage[]> {
  if (keyIds.length === 0) return [];
  const [sums, rejected, newest] = await Promise.all([
    usageSums(db, workspaceId, keyIds, sinceDay),
    rejectedCounts(db, workspaceId, keyIds, sinceDay),
    lastUsedTimes(db, workspaceId, keyIds),
  ]);
  return keyIds.flatMap((keyId) => {
    const sum = sums.get(keyId);
    const lastUsedMs = newest.get(keyId) ?? null;
    // A call may be rejected between the two queries.
    const requests = Math.max(0, (sum?.requests ?? 0) - (rejected.get(keyId) ?? 0));
    if (requests === 0 && lastUsedMs === null) return [];
    return [{ keyId, lastUsedMs, requests, costNanos: sum?.cost_nanos ?? 0n }];
  });
}

async function usageSums(db: Kysely<Database>, workspaceId: string, keyIds: readonly string[], sinceDay: string) {
  const rows = await db
    .selectFrom("requests_daily")
    .where("workspace_id", "=", workspaceId)
    .where("day", ">=", sinceDay)
    .where("key_id", "in", keyIds)
    .groupBy("key_id")
    .select([
      "key_id",
      sql<number>`cast(sum(requests) as bigint)`.as("requests"),
      sql<bigint>`cast(sum(cost_nanos) as bigint)`.as("cost_nanos"),
    ])
    .execute();
  return new Map(rows.map((row) => [row.key_id, row]));
}

async function rejectedCounts(db: Kysely<Database>, workspaceId: string, keyIds: readonly string[], sinceDay: string) {
  const rows = await db
    .selectFrom("request_shapes")
    .innerJoin("requests_hourly", (join) =>
      join
        .onRef("requests_hourly.workspace_id", "=", "request_shapes.workspace_id")
        .onRef("requests_hourly.shape", "=", "request_shapes.id"),
    )
    .where("request_shapes.workspace_id", "=", workspaceId)
    .where("request_shapes.key_id", "in", keyIds)
    .where("request_shapes.status", "=", REJECTED_KEY_STATUS)
    .where("requests_hourly.hour_ms", ">=", Date.parse(sinceDay))
    .groupBy("request_shapes.key_id")
    .select(["request_shapes.key_id", sql<number>`cast(sum(requests_hourly.requests) as bigint)`.as("requests")])
    .execute();
  return new Map(rows.map((row) => [row.key_id, row.requests]));
}

async function lastUsedTimes(db: Kysely<Database>, workspaceId: string, keyIds: readonly string[]) {
  const heads = db
    .selectFrom("request_shapes")
    .where("request_shapes.workspace_id", "=", workspaceId)
    .where("request_shapes.key_id", "in", keyIds)
    .where("request_shapes.status", "!=", REJECTED_KEY_STATUS)
    .select((eb) => [
      "request_shapes.key_id",
      eb
        .selectFrom("request_records")
        .whereRef("request_records.workspace_id", "=", "request_shapes.workspace_id")
        .whereRef("request_records.shape", "=", "request_shapes.id")
        .select((inner) => inner.fn.max("request_records.created_at_ms").as("head_ms"))
        .as("head_ms"),
    ])
    .as("heads");
  const rows = await db
    .selectFrom(heads)
    .where("heads.head_ms", "is not", null)
    .groupBy("heads.key_id")
    .select(["heads.key_id", sql<number>`max(heads.head_ms)`.as("newest_ms")])
    .execute();
  return new Map(rows.map((row) => [row.key_id, row.newest_ms]));
}

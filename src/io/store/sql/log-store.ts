import { type Kysely, sql } from "kysely";
import type { LogStore, RequestRecord } from "../../../domain/record/record.ts";
import { parseRecord } from "../../../domain/record/record-schema.ts";
import { idTimestampMs } from "../../../kit/id-generator.ts";
import type { LogPartitions } from "./engine.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import { findRequests, type LogSource } from "./log-query.ts";
import type { Database } from "./schema.ts";

/** The time in a request id may differ this much from the one in its record. */
const ID_TIME_TOLERANCE_MS = 86_400_000;

/** An engine limits the selects of a `union all`. */
const WORKSPACES_PER_STATEMENT = 100;

type LogConnections = LogSource & { readonly db: Kysely<Database> };

export function logStore(connections: LogConnections, parts?: LogPartitions): LogStore {
  const { db, reads } = connections;
  /** The workspace that the last sweep ended in: the next one continues there. */
  let sweptUpTo = "";
  return {
    prepare: async (nowMs) => parts?.prepare(nowMs),

    async list(workspaceId, filter, limit, cursor) {
      const size = pageSize(limit);
      const after = cursor === null ? null : decodeCursor(cursor);
      const cursors = await findRequests(connections, workspaceId, filter, after, size + 1);
      const { page, next } = slicePage(cursors, size, (found) => found);
      const records = await readRecords(
        reads,
        page.map(({ id }) => id),
        // Newest first.
        { fromMs: page.at(-1)?.atMs ?? 0, toMs: page[0]?.atMs ?? 0 },
      );
      // A request that was deleted meanwhile is omitted.
      return { rows: page.flatMap(({ id }) => records.get(id) ?? []), next };
    },

    async find(requestId) {
      const atMs = idTimestampMs(requestId);
      // By the time in the id first, so that one partition is searched instead of all.
      const near =
        atMs === undefined ? undefined : { fromMs: atMs - ID_TIME_TOLERANCE_MS, toMs: atMs + ID_TIME_TOLERANCE_MS };
      const found = near && (await readRecords(reads, [requestId], near)).get(requestId);
      return found ?? (await readRecords(reads, [requestId])).get(requestId);
    },

    async lastRequestTimes(workspaceIds) {
      const times = new Map<string, number>();
      for (let at = 0; at < workspaceIds.length; at += WORKSPACES_PER_STATEMENT) {
        const heads = workspaceIds.slice(at, at + WORKSPACES_PER_STATEMENT).map(
          (id) => sql`select cast(${id} as text) as workspace_id, (select created_at_ms from request_records
            where workspace_id = ${id} order by created_at_ms desc, id desc limit 1) as last_ms`,
        );
        const { rows } = await sql<{ workspace_id: string; last_ms: number | null }>`
          ${sql.join(heads, sql` union all `)}`.execute(reads);
        for (const { workspace_id, last_ms } of rows) if (last_ms !== null) times.set(workspace_id, last_ms);
      }
      return times;
    },

    async sweep(olderMs, rowsMax) {
      const remaining = await parts?.dropBefore(olderMs);
      const beforeMs = remaining?.restBeforeMs ?? olderMs;
      let removed = 0;
      for await (const workspaceId of iterateWorkspaces(reads, sweptUpTo, remaining?.lookBeforeMs)) {
        const old = await reads
          .selectFrom("request_records")
          .select("id")
          .where("workspace_id", "=", workspaceId)
          .where("created_at_ms", "<", beforeMs)
          .orderBy("created_at_ms")
          .limit(rowsMax - removed)
          .execute();
        if (old.length > 0)
          await db
            .deleteFrom("request_records")
            .where("created_at_ms", "<", beforeMs)
            .where(
              "id",
              "in",
              old.map(({ id }) => id),
            )
            .execute();
        removed += old.length;
        if (removed >= rowsMax) return removed;
        sweptUpTo = workspaceId;
      }
      sweptUpTo = "";
      return removed;
    },
  };
}

type TimeWindow = { readonly fromMs: number; readonly toMs: number };

async function readRecords(
  db: Kysely<Database>,
  ids: readonly string[],
  span?: TimeWindow,
): Promise<Map<string, RequestRecord>> {
  if (ids.length === 0) return new Map();
  const byId = db.selectFrom("request_records").select(["id", "record"]).where("id", "in", ids);
  const within =
    span === undefined ? byId : byId.where("created_at_ms", ">=", span.fromMs).where("created_at_ms", "<=", span.toMs);
  return new Map((await within.execute()).map(({ id, record }) => [id, parseRecord(record)]));
}

/** A loose index scan: few workspaces among very many requests. */
async function* iterateWorkspaces(
  db: Kysely<Database>,
  after: string,
  lookBeforeMs: number | undefined,
): AsyncGenerator<string> {
  const all = db.selectFrom("request_records").select("workspace_id");
  const restricted = lookBeforeMs === undefined ? all : all.where("created_at_ms", "<", lookBeforeMs);
  for (let last = after; ; ) {
    const next = await restricted.where("workspace_id", ">", last).orderBy("workspace_id").limit(1).executeTakeFirst();
    if (next === undefined) return;
    last = next.workspace_id;
    yield last;
  }
}

import type { Kysely } from "kysely";
import type { LogFilter, LogStore } from "../../../domain/record/record.ts";
import { parseRecord } from "../../../domain/record/record-schema.ts";
import { cutPage, decodeCursor, pageSize } from "./page.ts";
import type { Database } from "./schema.ts";

export function logStore(db: Kysely<Database>): LogStore {
  return {
    async list(workspaceId, filter, limit, cursor) {
      const size = pageSize(limit);
      const rows = await listQuery(db, workspaceId, filter, cursor)
        .limit(size + 1)
        .execute();
      const { page, next } = cutPage(rows, size, (row) => ({ atMs: row.created_at_ms, id: row.id }));
      return { rows: page.map((row) => parseRecord(row.record)), next };
    },

    async find(requestId) {
      const row = await db.selectFrom("requests").select("record").where("id", "=", requestId).executeTakeFirst();
      return row === undefined ? undefined : parseRecord(row.record);
    },
  };
}

function listQuery(db: Kysely<Database>, workspaceId: string, filter: LogFilter, cursor: string | null) {
  const { keyId, model, provider, app, environment, status, sinceMs, untilMs } = filter;
  let query = db
    .selectFrom("requests")
    .select(["id", "created_at_ms", "record"])
    .where("workspace_id", "=", workspaceId)
    .orderBy("created_at_ms", "desc")
    .orderBy("id", "desc");
  if (keyId !== undefined) query = query.where("key_id", "=", keyId);
  // By the model that served or the one that was asked for: `auto` is never the former.
  if (model !== undefined)
    query = query.where(({ eb, or }) => or([eb("model", "=", model), eb("model_requested", "=", model)]));
  if (provider !== undefined) query = query.where("provider", "=", provider);
  if (app !== undefined) query = query.where("app", "=", app);
  if (environment !== undefined) query = query.where("environment", "=", environment);
  if (status !== undefined) query = query.where("status", "=", status);
  if (sinceMs !== undefined) query = query.where("created_at_ms", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("created_at_ms", "<", untilMs);
  if (cursor === null) return query;
  const { atMs, id } = decodeCursor(cursor);
  return query.where(({ eb, refTuple, tuple }) => eb(refTuple("created_at_ms", "id"), "<", tuple(atMs, id)));
}

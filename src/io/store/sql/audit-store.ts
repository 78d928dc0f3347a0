import type { Kysely } from "kysely";
import { z } from "zod";
import type { AuditEntry, AuditFilter, AuditStore } from "../../../domain/record/audit.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function auditStore(db: Kysely<Database>): AuditStore {
  return {
    async append(entry) {
      const { id, atMs, actor, action, workspaceId, target, detail } = entry;
      await db
        .insertInto("audit_log")
        .values({ id, at_ms: atMs, actor, action, workspace_id: workspaceId, target, detail: JSON.stringify(detail) })
        .execute();
    },

    async list(filter, limit, cursor) {
      const size = pageSize(limit);
      const rows = await listQuery(db, filter, cursor)
        .limit(size + 1)
        .execute();
      const { page, next } = slicePage(rows, size, (row) => ({ atMs: row.at_ms, id: row.id }));
      return { rows: page.map(toEntry), next };
    },
  };
}

function listQuery(db: Kysely<Database>, filter: AuditFilter, cursor: string | null) {
  const { workspaceId, actor, action, target, sinceMs, untilMs } = filter;
  let query = db.selectFrom("audit_log").selectAll().orderBy("at_ms", "desc").orderBy("id", "desc");
  if (workspaceId !== undefined) query = query.where("workspace_id", "=", workspaceId);
  if (actor !== undefined) query = query.where("actor", "=", actor);
  // A noun alone is everything done to its kind.
  if (action !== undefined)
    query = action.includes(".") ? query.where("action", "=", action) : query.where("action", "like", `${action}.%`);
  if (target !== undefined) query = query.where("target", "=", target);
  if (sinceMs !== undefined) query = query.where("at_ms", ">=", sinceMs);
  if (untilMs !== undefined) query = query.where("at_ms", "<", untilMs);
  if (cursor === null) return query;
  const { atMs, id } = decodeCursor(cursor);
  return query.where(({ eb, refTuple, tuple }) => eb(refTuple("at_ms", "id"), "<", tuple(atMs, id)));
}

const detailObject = z.record(z.string(), z.unknown());

function toEntry(row: Database["audit_log"]): AuditEntry {
  const { id, actor, action, target } = row;
  const detail = detailObject.parse(JSON.parse(row.detail));
  return { id, atMs: row.at_ms, actor, action, workspaceId: row.workspace_id, target, detail };
}

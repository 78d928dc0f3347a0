import type { Kysely } from "kysely";
import { z } from "zod";
import type { AuditEntry, AuditStore } from "../../../domain/record/audit.ts";
import { cutPage, decodeCursor, pageSize } from "./page.ts";
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

    async list(workspaceId, limit, cursor) {
      const size = pageSize(limit);
      let query = db.selectFrom("audit_log").selectAll().orderBy("at_ms", "desc").orderBy("id", "desc");
      if (workspaceId !== null) query = query.where("workspace_id", "=", workspaceId);
      if (cursor !== null) {
        const { atMs, id } = decodeCursor(cursor);
        query = query.where(({ eb, refTuple, tuple }) => eb(refTuple("at_ms", "id"), "<", tuple(atMs, id)));
      }
      const rows = await query.limit(size + 1).execute();
      const { page, next } = cutPage(rows, size, (row) => ({ atMs: row.at_ms, id: row.id }));
      return { rows: page.map(toEntry), next };
    },
  };
}

const detailObject = z.record(z.string(), z.unknown());

function toEntry(row: Database["audit_log"]): AuditEntry {
  const { id, actor, action, target } = row;
  const detail = detailObject.parse(JSON.parse(row.detail));
  return { id, atMs: row.at_ms, actor, action, workspaceId: row.workspace_id, target, detail };
}

import type { Kysely } from "kysely";
import type { LogStore, RequestRecord } from "../../../domain/record/record.ts";
import { parseRecord } from "../../../domain/record/record-schema.ts";
import { findPlaces } from "./log-query.ts";
import { cutPage, decodeCursor, pageSize } from "./page.ts";
import type { Database } from "./schema.ts";

export function logStore(db: Kysely<Database>): LogStore {
  return {
    async list(workspaceId, filter, limit, cursor) {
      const size = pageSize(limit);
      const after = cursor === null ? null : decodeCursor(cursor);
      const places = await findPlaces(db, workspaceId, filter, after, size + 1);
      const { page, next } = cutPage(places, size, (place) => place);
      const records = await recordsOf(
        db,
        page.map(({ id }) => id),
      );
      // One that is swept away meanwhile is left out.
      return { rows: page.flatMap(({ id }) => records.get(id) ?? []), next };
    },

    async find(requestId) {
      return (await recordsOf(db, [requestId])).get(requestId);
    },

    async sweep(beforeMs, rowsMax) {
      let removed = 0;
      for await (const workspaceId of workspacesIn(db)) {
        const old = await db
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
            .where(
              "id",
              "in",
              old.map(({ id }) => id),
            )
            .execute();
        removed += old.length;
        if (removed >= rowsMax) break;
      }
      return removed;
    },
  };
}

async function recordsOf(db: Kysely<Database>, ids: readonly string[]): Promise<Map<string, RequestRecord>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("request_records").select(["id", "record"]).where("id", "in", ids).execute();
  return new Map(rows.map(({ id, record }) => [id, parseRecord(record)]));
}

/** From one to the next in the index: there are few of them among very many requests. */
async function* workspacesIn(db: Kysely<Database>): AsyncGenerator<string> {
  for (let last = ""; ; ) {
    const next = await db
      .selectFrom("request_records")
      .select("workspace_id")
      .where("workspace_id", ">", last)
      .orderBy("workspace_id")
      .limit(1)
      .executeTakeFirst();
    if (next === undefined) return;
    last = next.workspace_id;
    yield last;
  }
}

import type { Kysely } from "kysely";
import type { ChangeFeed } from "../../../domain/fleet/change-feed.ts";
import type { Database } from "./schema.ts";

export function changeStore(db: Kysely<Database>): ChangeFeed {
  return {
    async latestSeq() {
      const row = await db
        .selectFrom("changes")
        .select(({ fn }) => fn.max("seq").as("seq"))
        .executeTakeFirst();
      return Number(row?.seq ?? 0);
    },

    async changesSince(seq) {
      const rows = await db.selectFrom("changes").selectAll().where("seq", ">", seq).orderBy("seq").execute();
      // A rolled back transaction leaves a gap too, which causes an unnecessary full reload.
      const missed = rows.some((row, at) => Number(row.seq) !== seq + 1 + at);
      return {
        seq: Number(rows.at(-1)?.seq ?? seq),
        workspaceIds: missed ? "missed" : new Set(rows.map((row) => row.workspace_id)),
      };
    },

    async purge(beforeMs) {
      await db
        .deleteFrom("changes")
        .where("at_ms", "<", Math.trunc(beforeMs))
        .where("seq", "<", ({ selectFrom }) => selectFrom("changes").select(({ fn }) => fn.max("seq").as("seq")))
        .execute();
    },
  };
}

/** In the same transaction as the change. */
export async function appendChange(session: Kysely<Database>, workspaceId: string | null, atMs: number): Promise<void> {
  await session
    .insertInto("changes")
    .values({ workspace_id: workspaceId, at_ms: Math.trunc(atMs) })
    .execute();
}

import { type Kysely, sql } from "kysely";
import type { CachedReplyStore, SealedReply } from "../../../domain/response-cache/cached-reply.ts";
import type { Database } from "./schema.ts";

export type CachedReplyRemoval = Pick<CachedReplyStore, "purge">;

/** Rows that one statement removes, so that others pass in between. */
const ROWS_PER_STATEMENT = 500;
/** Removal goes on until there is room for a while. */
const FULL_SHARE = 0.9;

/** Lookups read beside the writes: a request must not wait for them. */
export function cachedReplyStore(db: Kysely<Database>, reads: Kysely<Database>): CachedReplyStore {
  /** Counted on first use, then updated with every write; other processes are seen after the next sweep. */
  const sizes = new Map<string, number>();
  const countBytes = async (workspaceId: string): Promise<number> => {
    const row = await db
      .selectFrom("cached_replies")
      .select(sql<number>`coalesce(sum(size), 0)`.as("bytes"))
      .where("workspace_id", "=", workspaceId)
      .executeTakeFirstOrThrow();
    return Number(row.bytes);
  };
  const makeRoom = async (workspaceId: string, maxBytes: number): Promise<void> => {
    let bytes = await countBytes(workspaceId);
    while (bytes > FULL_SHARE * maxBytes) {
      const oldest = await db
        .selectFrom("cached_replies")
        .select(["id", "size"])
        .where("workspace_id", "=", workspaceId)
        .orderBy("created_at_ms")
        .orderBy("id")
        .limit(ROWS_PER_STATEMENT)
        .execute();
      const ids: string[] = [];
      for (const { id, size } of oldest) {
        if (bytes <= FULL_SHARE * maxBytes) break;
        ids.push(id);
        bytes -= size;
      }
      if (ids.length === 0) break;
      await db.deleteFrom("cached_replies").where("workspace_id", "=", workspaceId).where("id", "in", ids).execute();
    }
    sizes.set(workspaceId, bytes);
  };
  return {
    ...cachedReplyRemoval(db),

    async find({ workspaceId, key }, nowMs) {
      const row = await reads
        .selectFrom("cached_replies")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", key)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { created_at_ms: createdAtMs, expires_at_ms: expiresAtMs, reply: sealed } = row;
      return { workspaceId, key, createdAtMs, expiresAtMs, sealed };
    },

    async save(replies, maxBytes) {
      const rows = replies.filter(({ sealed }) => sealed.length <= maxBytes).map(toRow);
      if (rows.length === 0) return;
      await db
        .insertInto("cached_replies")
        .values(rows)
        .onConflict((conflict) =>
          conflict.columns(["workspace_id", "id"]).doUpdateSet(({ ref }) => ({
            created_at_ms: ref("excluded.created_at_ms"),
            expires_at_ms: ref("excluded.expires_at_ms"),
            size: ref("excluded.size"),
            reply: ref("excluded.reply"),
          })),
        )
        .execute();
      for (const [workspaceId, own] of Map.groupBy(rows, (row) => row.workspace_id)) {
        const size = own.reduce((sum, row) => sum + row.size, 0);
        const before = sizes.get(workspaceId) ?? (await countBytes(workspaceId)) - size;
        sizes.set(workspaceId, before + size);
        if (before + size > maxBytes) await makeRoom(workspaceId, maxBytes);
      }
    },

    async usage(workspaceId, nowMs) {
      const row = await db
        .selectFrom("cached_replies")
        .select([sql<number>`count(*)`.as("replies"), sql<number>`coalesce(sum(size), 0)`.as("bytes")])
        .where("workspace_id", "=", workspaceId)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirstOrThrow();
      return { replies: Number(row.replies), bytes: Number(row.bytes) };
    },

    async sweep(nowMs) {
      sizes.clear();
      for (;;) {
        const expired = db
          .selectFrom("cached_replies")
          .select(["workspace_id", "id"])
          .where("expires_at_ms", "<=", nowMs)
          .limit(ROWS_PER_STATEMENT);
        const { numDeletedRows } = await db
          .deleteFrom("cached_replies")
          .where(({ eb, refTuple }) => eb(refTuple("workspace_id", "id"), "in", expired.$asTuple("workspace_id", "id")))
          .executeTakeFirst();
        if (numDeletedRows < ROWS_PER_STATEMENT) return;
      }
    },
  };
}

function toRow({ workspaceId, key, createdAtMs, expiresAtMs, sealed }: SealedReply): Database["cached_replies"] {
  return {
    workspace_id: workspaceId,
    id: key,
    created_at_ms: createdAtMs,
    expires_at_ms: expiresAtMs,
    size: sealed.length,
    reply: sealed,
  };
}

/** For management changes. */
export function cachedReplyRemoval(db: Kysely<Database>): CachedReplyRemoval {
  return {
    async purge(workspaceId) {
      const removed = await db.deleteFrom("cached_replies").where("workspace_id", "=", workspaceId).executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

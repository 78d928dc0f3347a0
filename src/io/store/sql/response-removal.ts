import type { Kysely } from "kysely";
import type { ResponseStore } from "../../../domain/responses/stored.ts";
import type { Database } from "./schema.ts";

/** What takes stored responses away; nothing has to be opened for it. */
export type ResponseRemoval = Pick<ResponseStore, "remove" | "purge">;

export function responseRemoval(db: Kysely<Database>): ResponseRemoval {
  return {
    async remove(workspaceId, id, nowMs) {
      const removed = await db
        .deleteFrom("stored_responses")
        .where("id", "=", id)
        .where("workspace_id", "=", workspaceId)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirst();
      return removed.numDeletedRows > 0n;
    },

    async purge(workspaceId) {
      const removed = await db
        .deleteFrom("stored_responses")
        .where("workspace_id", "=", workspaceId)
        .executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

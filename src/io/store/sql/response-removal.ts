import type { Kysely, SelectQueryBuilder } from "kysely";
import type { ResponseStore } from "../../../domain/responses/response-store.ts";
import { inTransaction } from "./in-transaction.ts";
import type { Database } from "./schema.ts";
import { readSizes } from "./stored-bytes.ts";

type RemovalOperations = Pick<ResponseStore, "remove" | "purge" | "sweep">;
/** For management changes; needs no vault, because nothing is decrypted. */
export type ResponseRemoval = Pick<RemovalOperations, "remove" | "purge">;
type ResponseSelection = SelectQueryBuilder<Database, "stored_responses", { id: string }>;

/** Responses may have many megabytes, so removal yields to other transactions in between. */
const ROWS_PER_TRANSACTION = 50;

/** `onFreed` receives the bytes of every deleted response. */
export function responseRemoval(
  db: Kysely<Database>,
  onFreed: (workspaceId: string, bytes: number) => void,
): RemovalOperations {
  const removeSome = async (selection: ResponseSelection): Promise<number> => {
    const sizes = await inTransaction(db, async (session) => {
      const found = await session.executeQuery(selection.limit(ROWS_PER_TRANSACTION));
      const ids = found.rows.map(({ id }) => id);
      if (ids.length === 0) return [];
      const candidates = await readSizes(session, ids);
      const deleted = await session.deleteFrom("stored_responses").where("id", "in", ids).returning("id").execute();
      const deletedIds = new Set(deleted.map(({ id }) => id));
      // A concurrent deletion of the same response is counted once.
      return candidates.filter(({ id }) => deletedIds.has(id));
    });
    for (const { workspace_id, bytes } of sizes) onFreed(workspace_id, bytes);
    return sizes.length;
  };
  const removeAll = async (selection: ResponseSelection): Promise<number> => {
    let all = 0;
    for (;;) {
      const removed = await removeSome(selection);
      all += removed;
      if (removed < ROWS_PER_TRANSACTION) return all;
    }
  };
  const every = db.selectFrom("stored_responses").select("id");
  return {
    remove: async (workspaceId, id, nowMs) => {
      const one = every.where("id", "=", id).where("workspace_id", "=", workspaceId);
      return (await removeSome(one.where("expires_at_ms", ">", nowMs))) > 0;
    },
    purge: (workspaceId) => removeAll(every.where("workspace_id", "=", workspaceId)),
    sweep: (nowMs) => removeAll(every.where("expires_at_ms", "<=", nowMs)),
  };
}

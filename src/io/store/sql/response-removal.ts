import type { Kysely, SelectQueryBuilder } from "kysely";
import type { ResponseStore } from "../../../domain/responses/response-store.ts";
import { inTransaction } from "./in-transaction.ts";
import type { Database } from "./schema.ts";
import { readSizes } from "./stored-bytes.ts";

type RemovalOperations = Pick<ResponseStore, "remove" | "purge" | "sweep">;
/** What a management change takes away; nothing has to be opened for it. */
export type ResponseRemoval = Pick<RemovalOperations, "remove" | "purge">;
type ResponseSelection = SelectQueryBuilder<Database, "stored_responses", { id: string }>;

/** Each may be many megabytes: others come in between, unless all of it is one change. */
const ROWS_PER_TRANSACTION = 50;

/** `freed` hears of every response that went, how many bytes of whom. */
export function responseRemoval(
  db: Kysely<Database>,
  onFreed: (workspaceId: string, bytes: number) => void,
): RemovalOperations {
  const removeSome = async (which: ResponseSelection): Promise<number> => {
    const sizes = await inTransaction(db, async (session) => {
      const found = await session.executeQuery(which.limit(ROWS_PER_TRANSACTION));
      const ids = found.rows.map(({ id }) => id);
      if (ids.length === 0) return [];
      const going = await readSizes(session, ids);
      const deleted = await session.deleteFrom("stored_responses").where("id", "in", ids).returning("id").execute();
      const gone = new Set(deleted.map(({ id }) => id));
      // Another may have removed the same one at the same time: it is counted once.
      return going.filter(({ id }) => gone.has(id));
    });
    for (const { workspace_id, bytes } of sizes) onFreed(workspace_id, bytes);
    return sizes.length;
  };
  const removeAll = async (which: ResponseSelection): Promise<number> => {
    let all = 0;
    for (;;) {
      const removed = await removeSome(which);
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

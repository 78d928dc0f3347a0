import type { Kysely, SelectQueryBuilder, Transaction as SqlTransaction } from "kysely";
import { idOf, outputOf } from "../../../domain/responses/items.ts";
import type { ResponseStore } from "../../../domain/responses/stored.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { type Size, StoredBytes, sizesOf } from "./response-bytes.ts";
import { responseReads } from "./response-reads.ts";
import { fromSummary, SealedRows } from "./response-rows.ts";
import type { Database } from "./schema.ts";

export function responseStore(db: Kysely<Database>, vault: Vault): ResponseStore {
  const rows = new SealedRows(vault);
  const bytes = new StoredBytes();
  return {
    ...responseReads(db, rows),
    ...responseWork(db, rows, bytes),
    ...responseRemoval(db, bytes),
    bytesOf: (workspaceId) => bytes.of(workspaceId),
    count: () => bytes.count(db),

    async add(stored, request) {
      const { id, workspaceId, response, input } = stored;
      const texts = [response, input, request].map((value) => (value === undefined ? "" : JSON.stringify(value)));
      const [responseText = "", inputText = "", requestText = ""] = texts;
      // At once: others who ask for room while it is written are to see that it is taken.
      let counted = texts.reduce((sum, text) => sum + text.length, 0);
      bytes.change(workspaceId, counted);
      try {
        const row = {
          ...fromSummary(stored),
          response: await rows.sealText(stored, "response", responseText),
          input: await rows.sealText(stored, "input", inputText),
          request: request === undefined ? null : await rows.sealText(stored, "request", requestText),
        };
        const size = row.response.length + row.input.length + (row.request?.length ?? 0);
        bytes.change(workspaceId, size - counted);
        counted = size;
        await db.transaction().execute(async (transaction) => {
          await transaction.insertInto("stored_responses").values(row).execute();
          await indexItems(transaction, workspaceId, id, response);
        });
      } catch (error) {
        bytes.change(workspaceId, -counted);
        throw error;
      }
    },
  };
}

type Work = Pick<ResponseStore, "begin" | "finish" | "appendEvents">;

function responseWork(db: Kysely<Database>, rows: SealedRows, bytes: StoredBytes): Work {
  return {
    async begin(id) {
      await db
        .updateTable("stored_responses")
        .set(({ eb }) => ({ status: "in_progress", runs: eb("runs", "+", 1) }))
        .where("id", "=", id)
        .where("status", "in", ["queued", "in_progress"])
        .execute();
    },

    async finish(end) {
      const { id, workspaceId, status, response, events } = end;
      const sealed = await rows.seal(end, "response", response);
      const last = await rows.sealEvents(end, events);
      const grown = await db.transaction().execute(async (transaction) => {
        const before = await sizesOf(transaction, [id]);
        const changed = await transaction
          .updateTable("stored_responses")
          .set({ status, response: sealed, request: null })
          .where("id", "=", id)
          .executeTakeFirst();
        // Deleted while it was worked on: nothing of it comes back.
        if (changed.numUpdatedRows === 0n) return 0;
        await indexItems(transaction, workspaceId, id, response);
        for (const row of last) await transaction.insertInto("stored_events").values(row).execute();
        return total(await sizesOf(transaction, [id])) - total(before);
      });
      bytes.change(workspaceId, grown);
    },

    async appendEvents(workspaceId, id, events) {
      if (events.length === 0) return;
      const sealed = await rows.sealEvents({ workspaceId, id }, events);
      try {
        await db.transaction().execute(async (transaction) => {
          for (const row of sealed) await transaction.insertInto("stored_events").values(row).execute();
        });
      } catch (error) {
        // Deleted while it was worked on, perhaps this very moment: its events are not wanted any more.
        const parent = await db.selectFrom("stored_responses").select("id").where("id", "=", id).executeTakeFirst();
        if (parent !== undefined) throw error;
        return;
      }
      bytes.change(
        workspaceId,
        sealed.reduce((sum, row) => sum + row.events.length, 0),
      );
    },
  };
}

const total = (sizes: readonly Size[]) => sizes.reduce((sum, size) => sum + size.bytes, 0);

type Removal = Pick<ResponseStore, "remove" | "purge" | "sweep">;
type Which = SelectQueryBuilder<Database, "stored_responses", { id: string }>;

/** Each may be many megabytes: others come in between. */
const REMOVED_AT_ONCE = 50;

function responseRemoval(db: Kysely<Database>, bytes: StoredBytes): Removal {
  const removeSome = async (which: Which): Promise<number> => {
    const sizes = await db.transaction().execute(async (transaction) => {
      const found = await transaction.executeQuery(which.limit(REMOVED_AT_ONCE));
      const ids = found.rows.map(({ id }) => id);
      if (ids.length === 0) return [];
      const going = await sizesOf(transaction, ids);
      const deleted = await transaction.deleteFrom("stored_responses").where("id", "in", ids).returning("id").execute();
      const gone = new Set(deleted.map(({ id }) => id));
      // Another may have removed the same one at the same time: it is counted once.
      return going.filter(({ id }) => gone.has(id));
    });
    for (const { workspace_id, bytes: gone } of sizes) bytes.change(workspace_id, -gone);
    return sizes.length;
  };
  const removeAll = async (which: Which): Promise<number> => {
    let all = 0;
    for (;;) {
      const removed = await removeSome(which);
      all += removed;
      if (removed < REMOVED_AT_ONCE) return all;
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

async function indexItems(
  transaction: SqlTransaction<Database>,
  workspaceId: string,
  responseId: string,
  response: JsonObject,
): Promise<void> {
  const ids = new Set(outputOf(response).flatMap((item) => idOf(item) ?? []));
  if (ids.size === 0) return;
  await transaction
    .insertInto("stored_items")
    .values([...ids].map((id) => ({ workspace_id: workspaceId, id, response_id: responseId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

import type { Kysely, SelectQueryBuilder, Transaction as SqlTransaction } from "kysely";
import { idOf, outputOf } from "../../../domain/responses/items.ts";
import type { ResponseStore } from "../../../domain/responses/stored.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { responseReads } from "./response-reads.ts";
import { fromSummary, SealedRows } from "./response-rows.ts";
import type { Database } from "./schema.ts";

export function responseStore(db: Kysely<Database>, vault: Vault): ResponseStore {
  const rows = new SealedRows(vault);
  return {
    ...responseReads(db, rows),

    async add(stored, request) {
      const { id, workspaceId, response, input } = stored;
      const row = {
        ...fromSummary(stored),
        response: await rows.seal(stored, "response", response),
        input: await rows.seal(stored, "input", input),
        request: request === undefined ? null : await rows.seal(stored, "request", request),
      };
      await db.transaction().execute(async (transaction) => {
        await transaction.insertInto("stored_responses").values(row).execute();
        await indexItems(transaction, workspaceId, id, response);
      });
    },

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
      await db.transaction().execute(async (transaction) => {
        const changed = await transaction
          .updateTable("stored_responses")
          .set({ status, response: sealed, request: null })
          .where("id", "=", id)
          .executeTakeFirst();
        // Deleted while it was worked on: nothing of it comes back.
        if (changed.numUpdatedRows === 0n) return;
        await indexItems(transaction, workspaceId, id, response);
        for (const row of last) await transaction.insertInto("stored_events").values(row).execute();
      });
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
      }
    },

    async remove(workspaceId, id, nowMs) {
      const removed = await db
        .deleteFrom("stored_responses")
        .where("id", "=", id)
        .where("workspace_id", "=", workspaceId)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirst();
      return removed.numDeletedRows > 0n;
    },

    purge: (workspaceId) =>
      removeAll(db, db.selectFrom("stored_responses").select("id").where("workspace_id", "=", workspaceId)),

    sweep: (nowMs) => removeAll(db, db.selectFrom("stored_responses").select("id").where("expires_at_ms", "<=", nowMs)),
  };
}

/** Each may be many megabytes: others come in between. */
const REMOVED_AT_ONCE = 50;

async function removeAll(
  db: Kysely<Database>,
  which: SelectQueryBuilder<Database, "stored_responses", { id: string }>,
): Promise<number> {
  let all = 0;
  for (;;) {
    const { numDeletedRows } = await db
      .deleteFrom("stored_responses")
      .where("id", "in", which.limit(REMOVED_AT_ONCE))
      .executeTakeFirst();
    all += Number(numDeletedRows);
    if (numDeletedRows < BigInt(REMOVED_AT_ONCE)) return all;
  }
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

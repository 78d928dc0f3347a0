import { type Kysely, type Transaction as SqlTransaction, sql } from "kysely";
import { idOf, outputOf } from "../../../domain/responses/items.ts";
import type { ResponseStore } from "../../../domain/responses/stored.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import type { JsonObject } from "../../../kit/json.ts";
import { type Size, type StoredBytes, sizesOf } from "./response-bytes.ts";
import { responseReads } from "./response-reads.ts";
import { responseRemoval } from "./response-removal.ts";
import { fromSummary, SealedRows } from "./response-rows.ts";
import type { Database } from "./schema.ts";

export function responseStore(db: Kysely<Database>, vault: Vault, bytes: StoredBytes): ResponseStore {
  const rows = new SealedRows(vault);
  return {
    ...responseReads(db, rows),
    ...responseWork(db, rows, bytes),
    ...responseRemoval(db, (workspaceId, freed) => bytes.change(workspaceId, -freed)),
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
          answering: 0,
          called_off: 0,
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

type Work = Pick<ResponseStore, "begin" | "answering" | "callOff" | "finish" | "appendEvents">;

const UNFINISHED = ["queued", "in_progress"] as const;

function responseWork(db: Kysely<Database>, rows: SealedRows, bytes: StoredBytes): Work {
  return {
    async begin(id) {
      const begun = await db
        .updateTable("stored_responses")
        .set(({ eb }) => ({ status: "in_progress", runs: eb("runs", "+", 1) }))
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .where("called_off", "=", 0)
        .executeTakeFirst();
      return begun.numUpdatedRows === 0n ? "unwanted" : "begun";
    },

    async answering(id) {
      await db.updateTable("stored_responses").set({ answering: 1 }).where("id", "=", id).execute();
    },

    async callOff(workspaceId, id) {
      await db
        .updateTable("stored_responses")
        .set({ called_off: 1 })
        .where("id", "=", id)
        .where("workspace_id", "=", workspaceId)
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
          .where("status", "in", UNFINISHED)
          .executeTakeFirst();
        // Deleted while it was worked on: nothing of it comes back. Ended before: that end was told.
        if (changed.numUpdatedRows === 0n) return 0;
        await indexItems(transaction, workspaceId, id, response);
        await putEvents(transaction, last);
        return total(await sizesOf(transaction, [id])) - total(before);
      });
      bytes.change(workspaceId, grown);
    },

    async appendEvents(workspaceId, id, events) {
      if (events.length === 0) return;
      const sealed = await rows.sealEvents({ workspaceId, id }, events);
      let grown = 0;
      try {
        grown = await db.transaction().execute((transaction) => putEvents(transaction, sealed));
      } catch (error) {
        // Deleted while it was worked on, perhaps this very moment: its events are not wanted any more.
        const parent = await db.selectFrom("stored_responses").select("id").where("id", "=", id).executeTakeFirst();
        if (parent !== undefined) throw error;
        return;
      }
      bytes.change(workspaceId, grown);
    },
  };
}

const total = (sizes: readonly Size[]) => sizes.reduce((sum, size) => sum + size.bytes, 0);

/**
 * Rows of events, each written over one that begins at the same number: that was written by whoever then did not hear of
 * it, and sends the same events again with those that came since. Answers by how many bytes they have grown.
 */
async function putEvents(
  transaction: SqlTransaction<Database>,
  rows: readonly Database["stored_events"][],
): Promise<number> {
  let grown = 0;
  for (const row of rows) {
    const before = await transaction
      .selectFrom("stored_events")
      .select(sql<number>`length(events)`.as("bytes"))
      .where("response_id", "=", row.response_id)
      .where("first_number", "=", row.first_number)
      .executeTakeFirst();
    const { last_number, events } = row;
    await transaction
      .insertInto("stored_events")
      .values(row)
      .onConflict((conflict) => conflict.columns(["response_id", "first_number"]).doUpdateSet({ last_number, events }))
      .execute();
    grown += events.length - Number(before?.bytes ?? 0);
  }
  return grown;
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

import type { Kysely, Transaction as SqlTransaction } from "kysely";
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

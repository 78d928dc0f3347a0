import { type Transaction as SqlTransaction, sql } from "kysely";
import { itemIdOf, outputItems } from "../../../domain/responses/response-items.ts";
import type { ResponseStore } from "../../../domain/responses/response-store.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import type { JsonObject } from "../../../kit/json.ts";
import type { JsonInTurns } from "../../../kit/json-in-turns.ts";
import type { Engine } from "./engine.ts";
import { responseReader } from "./response-reader.ts";
import { responseRemoval } from "./response-removal.ts";
import type { Database } from "./schema.ts";
import { fromSummary, SealedRows, toContent, WORK_PHASE } from "./sealed-rows.ts";
import { type ResponseSize, readSizes, type StoredBytes } from "./stored-bytes.ts";

type ResponseEngine = Pick<Engine, "db" | "lockRows">;

export function responseStore(
  engine: ResponseEngine,
  { vault, json, bytes }: { readonly vault: Vault; readonly json: JsonInTurns; readonly bytes: StoredBytes },
): ResponseStore {
  const { db } = engine;
  const rows = new SealedRows(vault, json);
  return {
    ...responseReader(db, rows),
    ...responseRuns(engine),
    ...responseWork(engine, rows, bytes),
    ...responseRemoval(db, (workspaceId, freed) => bytes.change(workspaceId, -freed)),
    bytesOf: (workspaceId) => bytes.of(workspaceId),
    count: () => bytes.count(db),

    async add(stored, request, chars = 0) {
      const { id, workspaceId, response, input } = stored;
      // Counted before the first wait, so that concurrent quota checks see it.
      let counted = chars;
      bytes.change(workspaceId, counted);
      try {
        const values = [toContent(stored), input, request];
        const [responseText = "", inputText = "", requestText = ""] = await Promise.all(
          values.map((value) => (value === undefined ? "" : rows.write(stored, value))),
        );
        const row = {
          ...fromSummary(stored),
          response: await rows.sealText(stored, "response", responseText),
          input: await rows.sealText(stored, "input", inputText),
          request: request === undefined ? null : await rows.sealText(stored, "request", requestText),
          answering: WORK_PHASE.no,
          ending: 0,
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

type RunOperations = Pick<ResponseStore, "startRun" | "markAnswering" | "cancel" | "claimEnd" | "releaseEnd">;

const UNFINISHED = ["queued", "in_progress"] as const;

/** Ownership of the work on a response. */
function responseRuns({ db }: ResponseEngine): RunOperations {
  return {
    async startRun(id) {
      const begun = await db
        .updateTable("stored_responses")
        .set(({ eb }) => ({ status: "in_progress", runs: eb("runs", "+", 1) }))
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .where("called_off", "=", 0)
        .where("ending", "=", 0)
        .returning("runs")
        .executeTakeFirst();
      if (begun !== undefined) return { is: "started", run: begun.runs };
      const ending = await db
        .selectFrom("stored_responses")
        .select("id")
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .where("ending", "!=", 0)
        .executeTakeFirst();
      return { is: ending === undefined ? "inactive" : "other_run" };
    },

    async markAnswering(id) {
      await db
        .updateTable("stored_responses")
        .set({ answering: WORK_PHASE.begun })
        .where("id", "=", id)
        .where("answering", "=", WORK_PHASE.no)
        .execute();
    },

    async cancel(workspaceId, id) {
      await db
        .updateTable("stored_responses")
        .set({ called_off: 1 })
        .where("id", "=", id)
        .where("workspace_id", "=", workspaceId)
        .execute();
    },

    async claimEnd({ id, run }, made) {
      const ending = db
        .updateTable("stored_responses")
        .set({ ending: run })
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .where("ending", "in", [0, run]);
      const runsMax = made === "not_started" ? run - 1 : run;
      const own = made === "complete" ? ending : ending.where("runs", "<=", runsMax);
      const { numUpdatedRows } = await own.executeTakeFirst();
      if (numUpdatedRows > 0n) return "claimed";
      const found = await db.selectFrom("stored_responses").select("status").where("id", "=", id).executeTakeFirst();
      if (found === undefined) return "deleted";
      return UNFINISHED.some((status) => status === found.status) ? "other_run" : "finished";
    },

    async releaseEnd({ id, run }) {
      await db
        .updateTable("stored_responses")
        .set({ ending: 0 })
        .where("id", "=", id)
        .where("status", "in", UNFINISHED)
        .where("ending", "=", run)
        .execute();
    },
  };
}

type WorkOperations = Pick<ResponseStore, "saveCompleted" | "finish" | "appendEvents">;

/** Results of the work on a response. */
function responseWork({ db, lockRows = sql`` }: ResponseEngine, rows: SealedRows, bytes: StoredBytes): WorkOperations {
  return {
    async saveCompleted(ref, answer) {
      const sealed = await rows.seal(ref, "made", toContent(answer));
      const grown = await db.transaction().execute(async (transaction) => {
        const before = await readSizes(transaction, [ref.id]);
        await transaction
          .updateTable("stored_responses")
          .set({ answering: WORK_PHASE.made, request: sealed })
          .where("id", "=", ref.id)
          .where("status", "in", UNFINISHED)
          .execute();
        return totalBytes(await readSizes(transaction, [ref.id])) - totalBytes(before);
      });
      bytes.change(ref.workspaceId, grown);
    },

    async finish(end) {
      const { id, workspaceId, status, response, events, run, lastRun } = end;
      const sealed = await rows.seal(end, "response", toContent(end));
      const last = await rows.sealEvents(end, events);
      const grown = await db.transaction().execute(async (transaction) => {
        const before = await readSizes(transaction, [id]);
        let ending = transaction
          .updateTable("stored_responses")
          .set({ status, response: sealed, request: null })
          .where("id", "=", id)
          .where("status", "in", UNFINISHED);
        if (run !== undefined)
          ending = ending.where(({ eb, or, and }) =>
            or([eb("ending", "=", run), and([eb("ending", "=", 0), eb("runs", "<=", run)])]),
          );
        if (lastRun !== undefined) ending = ending.where("runs", "<=", lastRun);
        const changed = await ending.executeTakeFirst();
        // Deleted, already finished, or claimed by a newer run: nothing is written.
        if (changed.numUpdatedRows === 0n) return undefined;
        await indexItems(transaction, workspaceId, id, response);
        await replaceEvents(transaction, last);
        return totalBytes(await readSizes(transaction, [id])) - totalBytes(before);
      });
      if (grown === undefined) return "unchanged";
      bytes.change(workspaceId, grown);
      return "finished";
    },

    async appendEvents({ workspaceId, id, run }, events) {
      if (events.length === 0) return "stored";
      const sealed = await rows.sealEvents({ workspaceId, id }, events);
      const grown = await db.transaction().execute(async (transaction) => {
        const current = await transaction
          .selectFrom("stored_responses")
          .select("id")
          .where("id", "=", id)
          .where("status", "in", UNFINISHED)
          .where("runs", "=", run)
          .modifyEnd(lockRows)
          .executeTakeFirst();
        return current === undefined ? undefined : replaceEvents(transaction, sealed);
      });
      if (grown === undefined) return "inactive";
      bytes.change(workspaceId, grown);
      return "stored";
    },
  };
}

const totalBytes = (sizes: readonly ResponseSize[]) => sizes.reduce((sum, size) => sum + size.bytes, 0);

/**
 * Writes consecutive event rows and replaces existing ones from the first on: those come from an unacknowledged write that is
 * being retried, or from an earlier run. Returns the change in bytes.
 */
async function replaceEvents(
  transaction: SqlTransaction<Database>,
  rows: readonly Database["stored_events"][],
): Promise<number> {
  const [first] = rows;
  if (first === undefined) return 0;
  const replaced = await transaction
    .deleteFrom("stored_events")
    .where("response_id", "=", first.response_id)
    .where("first_number", ">=", first.first_number)
    .returning(sql<number>`length(events)`.as("bytes"))
    .execute();
  for (const row of rows) await transaction.insertInto("stored_events").values(row).execute();
  const written = rows.reduce((sum, { events }) => sum + events.length, 0);
  return replaced.reduce((sum, { bytes }) => sum - Number(bytes), written);
}

async function indexItems(
  transaction: SqlTransaction<Database>,
  workspaceId: string,
  responseId: string,
  response: JsonObject,
): Promise<void> {
  const ids = new Set(outputItems(response).flatMap((item) => itemIdOf(item) ?? []));
  if (ids.size === 0) return;
  await transaction
    .insertInto("stored_items")
    .values([...ids].map((id) => ({ workspace_id: workspaceId, id, response_id: responseId })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

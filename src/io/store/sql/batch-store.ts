import { type Kysely, sql } from "kysely";
import type { BatchStatus } from "../../../domain/batches/batch.ts";
import type { BatchStore } from "../../../domain/batches/batch-store.ts";
import type { Vault } from "../../../domain/tenancy/vault.ts";
import { batchReader } from "./batch-reader.ts";
import { type BatchRow, fromBatch, UNFINISHED } from "./batch-rows.ts";
import { batchWork } from "./batch-work.ts";
import { fileRow } from "./file-store.ts";
import type { Database } from "./schema.ts";
import { SealedContent } from "./sealed-content.ts";

const PARTS_PER_STATEMENT = 200;
/** Outcomes are deleted in steps, because a batch may have many megabytes. */
const DELETED_LINES = 2000;
const SWEPT_BATCHES_MAX = 100;
/** Concurrent changes of one batch, which are rare. */
const TRIES = 8;

export function batchStore(db: Kysely<Database>, vault: Pick<Vault, "derive">): BatchStore {
  const sealed = new SealedContent(vault);
  return {
    ...batchReader(db, sealed),
    ...batchWork(db, sealed),
    ...batchStatus(db, sealed),
    ...batchRemoval(db),
    async add(batch) {
      await db
        .insertInto("batches")
        .values(await fromBatch(sealed, batch))
        .execute();
    },
  };
}

type StatusOperations = Pick<BatchStore, "stop" | "start" | "fail" | "pause" | "resume" | "setStatus" | "finish">;

const STOPPABLE = ["validating", "in_progress"] as const;

function batchStatus(db: Kysely<Database>, sealed: SealedContent): StatusOperations {
  return {
    async stop(id, reason, nowMs) {
      const status = reason === "cancelled" ? "cancelling" : "finalizing";
      await changeStatus(db, id, STOPPABLE, { status, stop: reason, pause: null }, nowMs);
    },

    async start(id, parts, nowMs) {
      await db.transaction().execute(async (session) => {
        await session.deleteFrom("batch_parts").where("batch_id", "=", id).execute();
        for (let at = 0; at < parts.length; at += PARTS_PER_STATEMENT)
          await session
            .insertInto("batch_parts")
            .values(parts.slice(at, at + PARTS_PER_STATEMENT).map(newPartRow))
            .execute();
        const total = parts.reduce((sum, { lines }) => sum + lines, 0);
        await session.updateTable("batches").set({ total }).where("id", "=", id).execute();
      });
      await changeStatus(db, id, ["validating"], { status: "in_progress" }, nowMs);
    },

    async fail({ id, workspaceId }, errors, nowMs) {
      const content = await sealed.seal({ workspaceId, column: "errors", row: id }, JSON.stringify(errors));
      await changeStatus(db, id, ["validating"], { status: "failed", errors: content }, nowMs);
    },

    async pause(id, reason, nowMs, untilMs) {
      const row = await db.selectFrom("batches").select("pause").where("id", "=", id).executeTakeFirst();
      const sinceMs: number = row?.pause == null ? nowMs : JSON.parse(row.pause).sinceMs;
      await db
        .updateTable("batches")
        .set({ pause: JSON.stringify({ reason, sinceMs, untilMs }) })
        .where("id", "=", id)
        .where("status", "=", "in_progress")
        .execute();
    },

    async resume(id) {
      await db.updateTable("batches").set({ pause: null }).where("id", "=", id).execute();
    },

    async setStatus(id, status, nowMs) {
      await changeStatus(db, id, UNFINISHED, { status }, nowMs);
    },

    async finish(id, status, nowMs, results) {
      const rows = await Promise.all(results.map((file) => fileRow(sealed, file)));
      const idOf = (content: string) => results.find((file) => file.content === content)?.id ?? null;
      await db.transaction().execute(async (session) => {
        if (rows.length > 0)
          await session
            .insertInto("stored_files")
            .values(rows)
            .onConflict((conflict) => conflict.column("id").doNothing())
            .execute();
        const files = { output_file_id: idOf("successes"), error_file_id: idOf("errors") };
        await changeStatus(session, id, UNFINISHED, { status, ...files, pause: null }, nowMs);
      });
    },
  };
}

function newPartRow(part: { batchId: string; number: number; firstLine: number; lines: number }) {
  return {
    batch_id: part.batchId,
    number: part.number,
    first_line: part.firstLine,
    lines: part.lines,
    done: part.lines === 0 ? 1 : 0,
    runs: 0,
    lease_owner: "",
    lease_until_ms: 0,
    succeeded: 0,
    errored: 0,
    cancelled: 0,
    expired: 0,
    cost_nanos: 0n,
    input_tokens: 0,
    output_tokens: 0,
    cached_tokens: 0,
    reasoning_tokens: 0,
  };
}

/** Changes the status if it is still one of these, and notes the time. */
async function changeStatus(
  db: Kysely<Database>,
  id: string,
  from: readonly BatchStatus[],
  change: Partial<BatchRow> & { readonly status: BatchStatus },
  nowMs: number,
): Promise<boolean> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const row = await db.selectFrom("batches").select(["status", "times"]).where("id", "=", id).executeTakeFirst();
    if (row === undefined || !from.some((status) => status === row.status)) return false;
    const times = JSON.stringify({ ...JSON.parse(row.times), [change.status]: nowMs });
    const { numUpdatedRows } = await db
      .updateTable("batches")
      .set({ ...change, times, lease_owner: "", lease_until_ms: 0 })
      .where("id", "=", id)
      .where("status", "=", row.status)
      .where("times", "=", row.times)
      .executeTakeFirst();
    if (numUpdatedRows > 0n) return true;
  }
  return false;
}

function batchRemoval(db: Kysely<Database>): Pick<BatchStore, "remove" | "purge" | "sweep"> {
  const removeContent = async (id: string) => {
    for (;;) {
      const { numDeletedRows } = await db
        .deleteFrom("batch_outcomes")
        .where("batch_id", "=", id)
        .where("line", "in", (eb) =>
          eb.selectFrom("batch_outcomes").select("line").where("batch_id", "=", id).limit(DELETED_LINES),
        )
        .executeTakeFirst();
      if (numDeletedRows < BigInt(DELETED_LINES)) break;
    }
    // Its results, and requests that were sent with it.
    await db.deleteFrom("stored_files").where("batch_id", "=", id).execute();
    await db.deleteFrom("batches").where("id", "=", id).execute();
  };
  return {
    async remove(workspaceId, id) {
      const row = await db
        .selectFrom("batches")
        .select("id")
        .where("workspace_id", "=", workspaceId)
        .where("id", "=", id)
        .executeTakeFirst();
      if (row !== undefined) await removeContent(row.id);
      return row !== undefined;
    },
    async purge(workspaceId) {
      const rows = await db.selectFrom("batches").select("id").where("workspace_id", "=", workspaceId).execute();
      for (const { id } of rows) await removeContent(id);
      await db.deleteFrom("stored_files").where("workspace_id", "=", workspaceId).execute();
    },
    async sweep(nowMs) {
      const rows = await db
        .selectFrom("batches")
        .select("id")
        .where("keep_until_ms", "<=", nowMs)
        .where(sql<boolean>`status not in (${sql.join(UNFINISHED)})`)
        .limit(SWEPT_BATCHES_MAX)
        .execute();
      for (const { id } of rows) await removeContent(id);
      return rows.length;
    },
  };
}

import type { Kysely } from "kysely";
import { z } from "zod";
import { SURFACES } from "../../../contract/surfaces.ts";
import type { CapturedRequest, CaptureScope, CaptureStore, CaptureWindowRow } from "../../../domain/record/capture.ts";
import { ENVIRONMENTS } from "../../../domain/tenancy/key.ts";
import type { EncryptionContext, Vault } from "../../../domain/tenancy/vault.ts";
import { inTransaction } from "./in-transaction.ts";
import { decodeCursor, pageSize, slicePage } from "./keyset-page.ts";
import type { Database } from "./schema.ts";

export function captureStore(db: Kysely<Database>, vault: Vault): CaptureStore {
  return {
    ...windowReads(db),

    async add(item, windowMaxBytes) {
      const request = await sealPart(vault, item, "request");
      const answer = await sealPart(vault, item, "answer");
      const bytes = (request?.length ?? 0) + (answer?.length ?? 0);
      return inTransaction(db, async (session) => {
        // Counting and storing is one transaction, so a purged or full window accepts nothing.
        const counted = await session
          .updateTable("capture_windows")
          .set(({ eb }) => ({ items: eb("items", "+", 1), bytes: eb("bytes", "+", bytes) }))
          .where("id", "=", item.windowId)
          .where("purged_at_ms", "is", null)
          .where("bytes", "<=", windowMaxBytes - bytes)
          .executeTakeFirst();
        if (counted.numUpdatedRows === 0n) return (await isPurged(session, item.windowId)) ? "purged" : "full";
        // A background request that resumed after a restart is captured once, with its final result.
        await session.deleteFrom("captured").where("request_id", "=", item.requestId).execute();
        await session
          .insertInto("captured")
          .values({ ...fromCaptured(item), request, answer })
          .execute();
        return "kept";
      });
    },

    async content(workspaceId, requestId, nowMs) {
      const row = await db
        .selectFrom("captured")
        .selectAll()
        .where("request_id", "=", requestId)
        .where("workspace_id", "=", workspaceId)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirst();
      if (row === undefined) return undefined;
      const { request, answer, ...rest } = row;
      const open = async (part: CapturePart, bytes: Uint8Array | null) =>
        bytes === null ? null : vault.open(slotOf({ workspaceId, requestId }, part), bytes);
      return { ...toCaptured(rest), request: await open("request", request), answer: await open("answer", answer) };
    },

    async sweep(nowMs) {
      const removed = await db.deleteFrom("captured").where("expires_at_ms", "<=", nowMs).executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

function windowReads(db: Kysely<Database>): Pick<CaptureStore, "list" | "find" | "openAt" | "openWithin"> {
  return {
    async list(workspaceId, limit, cursor) {
      const size = pageSize(limit);
      let query = db.selectFrom("capture_windows").selectAll().orderBy("opened_at_ms", "desc").orderBy("id", "desc");
      if (workspaceId !== null) query = query.where("workspace_id", "=", workspaceId);
      if (cursor !== null) {
        const { atMs, id } = decodeCursor(cursor);
        query = query.where(({ eb, refTuple, tuple }) => eb(refTuple("opened_at_ms", "id"), "<", tuple(atMs, id)));
      }
      const rows = await query.limit(size + 1).execute();
      const { page, next } = slicePage(rows, size, (row) => ({ atMs: row.opened_at_ms, id: row.id }));
      return { rows: page.map(toWindow), next };
    },

    async find(id) {
      const row = await db.selectFrom("capture_windows").selectAll().where("id", "=", id).executeTakeFirst();
      return row === undefined ? undefined : toWindow(row);
    },

    async openAt(nowMs) {
      const rows = await db
        .selectFrom("capture_windows")
        .selectAll()
        .where("closed_at_ms", "is", null)
        .where("closes_at_ms", ">", nowMs)
        .orderBy("opened_at_ms")
        .orderBy("id")
        .execute();
      return rows.map(toWindow);
    },

    async openWithin(workspaceId, fromMs, toMs) {
      const rows = await db
        .selectFrom("capture_windows")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .where("opened_at_ms", "<", toMs)
        .where("closes_at_ms", ">", fromMs)
        .where(({ eb, or }) => or([eb("closed_at_ms", "is", null), eb("closed_at_ms", ">", fromMs)]))
        .orderBy("opened_at_ms")
        .orderBy("id")
        .execute();
      return rows.map(toWindow);
    },
  };
}

async function isPurged(session: Kysely<Database>, windowId: string): Promise<boolean> {
  const row = await session
    .selectFrom("capture_windows")
    .select("purged_at_ms")
    .where("id", "=", windowId)
    .executeTakeFirst();
  return row === undefined || row.purged_at_ms !== null;
}

type CapturePart = "request" | "answer";

function slotOf(
  { workspaceId, requestId }: Pick<CapturedRequest, "workspaceId" | "requestId">,
  part: CapturePart,
): EncryptionContext {
  return { workspaceId, column: `captured.${part}`, row: requestId };
}

async function sealPart(vault: Vault, item: CapturedRequest, part: CapturePart): Promise<Uint8Array | null> {
  const text = item[part];
  return text === null ? null : vault.seal(slotOf(item, part), text);
}

type CapturedRow = Omit<Database["captured"], "request" | "answer">;

function fromCaptured(item: CapturedRequest): CapturedRow {
  return {
    request_id: item.requestId,
    window_id: item.windowId,
    workspace_id: item.workspaceId,
    key_id: item.keyId,
    captured_at_ms: item.capturedAtMs,
    expires_at_ms: item.expiresAtMs,
    cut: JSON.stringify(item.cut),
  };
}

const cutParts = z.array(z.object({ part: z.enum(["request", "answer"]), ofBytes: z.number() }));

function toCaptured(row: CapturedRow): Omit<CapturedRequest, "request" | "answer"> {
  return {
    requestId: row.request_id,
    windowId: row.window_id,
    workspaceId: row.workspace_id,
    keyId: row.key_id,
    capturedAtMs: row.captured_at_ms,
    expiresAtMs: row.expires_at_ms,
    cut: cutParts.parse(JSON.parse(row.cut)),
  };
}

const scopeShape: z.ZodType<CaptureScope> = z.object({
  keys: z.array(z.string()).nullable(),
  surfaces: z.array(z.enum(SURFACES)).nullable(),
  environment: z.enum(ENVIRONMENTS).nullable(),
});

function toWindow(row: Database["capture_windows"]): CaptureWindowRow {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    openedAtMs: row.opened_at_ms,
    closesAtMs: row.closes_at_ms,
    closedAtMs: row.closed_at_ms,
    purgedAtMs: row.purged_at_ms,
    retentionMs: row.retention_ms,
    scope: scopeShape.parse(JSON.parse(row.scope)),
    openedBy: row.opened_by,
    reason: row.reason,
    items: row.items,
    bytes: row.bytes,
  };
}

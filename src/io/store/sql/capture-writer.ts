import type { Kysely } from "kysely";
import type { CaptureWriter } from "../../../domain/record/capture.ts";
import type { Database } from "./schema.ts";

/** Needs no vault, because nothing is decrypted. */
export function captureWriter(db: Kysely<Database>): CaptureWriter {
  const close: CaptureWriter["close"] = async (id, atMs) => {
    await db
      .updateTable("capture_windows")
      .set({ closed_at_ms: atMs })
      .where("id", "=", id)
      .where("closed_at_ms", "is", null)
      .where("closes_at_ms", ">", atMs)
      .execute();
  };
  const purge: CaptureWriter["purge"] = async (id, atMs) => {
    await db.updateTable("capture_windows").set({ purged_at_ms: atMs }).where("id", "=", id).execute();
    const removed = await db.deleteFrom("captured").where("window_id", "=", id).executeTakeFirst();
    return Number(removed.numDeletedRows);
  };
  return {
    async open(window) {
      await db
        .insertInto("capture_windows")
        .values({
          id: window.id,
          workspace_id: window.workspaceId,
          opened_at_ms: window.openedAtMs,
          closes_at_ms: window.closesAtMs,
          closed_at_ms: window.closedAtMs,
          purged_at_ms: null,
          retention_ms: window.retentionMs,
          scope: JSON.stringify(window.scope),
          opened_by: window.openedBy,
          reason: window.reason,
          items: 0,
          bytes: 0,
        })
        .execute();
    },
    close,
    purge,

    async closeAndPurgeAll(workspaceId, atMs) {
      const open = await db
        .selectFrom("capture_windows")
        .select("id")
        .where("workspace_id", "=", workspaceId)
        .where("closed_at_ms", "is", null)
        .where("closes_at_ms", ">", atMs)
        .execute();
      for (const { id } of open) await close(id, atMs);
      await db
        .updateTable("capture_windows")
        .set({ purged_at_ms: atMs })
        .where("workspace_id", "=", workspaceId)
        .where("purged_at_ms", "is", null)
        .execute();
      const removed = await db.deleteFrom("captured").where("workspace_id", "=", workspaceId).executeTakeFirst();
      return { closed: open.map(({ id }) => id), purged: Number(removed.numDeletedRows) };
    },

    async purgeKey(workspaceId, keyId) {
      const removed = await db
        .deleteFrom("captured")
        .where("workspace_id", "=", workspaceId)
        .where("key_id", "=", keyId)
        .executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

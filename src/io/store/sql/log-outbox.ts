import type { Kysely } from "kysely";
import type { LogOutbox } from "../../../domain/record/outbox.ts";
import type { Database } from "./schema.ts";

/** Rows of one statement: engines bound how many values it may have. */
const ROWS_AT_ONCE = 500;

export function logOutbox(db: Kysely<Database>): LogOutbox {
  return {
    async add(targets, records) {
      const rows = targets.flatMap((target) =>
        records.map(({ requestId, record, queuedAtMs }) => ({
          target,
          request_id: requestId,
          queued_at_ms: queuedAtMs,
          record,
        })),
      );
      for (let at = 0; at < rows.length; at += ROWS_AT_ONCE)
        await db
          .insertInto("log_outbox")
          .values(rows.slice(at, at + ROWS_AT_ONCE))
          .onConflict((conflict) => conflict.doNothing())
          .execute();
    },

    async next(target, limit) {
      const rows = await db
        .selectFrom("log_outbox")
        .select(["request_id", "queued_at_ms", "record"])
        .where("target", "=", target)
        .orderBy("queued_at_ms")
        .orderBy("request_id")
        .limit(limit)
        .execute();
      return rows.map(({ request_id, queued_at_ms, record }) => ({
        requestId: request_id,
        queuedAtMs: queued_at_ms,
        record,
      }));
    },

    async done(target, requestIds) {
      for (let at = 0; at < requestIds.length; at += ROWS_AT_ONCE)
        await db
          .deleteFrom("log_outbox")
          .where("target", "=", target)
          .where("request_id", "in", requestIds.slice(at, at + ROWS_AT_ONCE))
          .execute();
    },

    async oldestMs(target) {
      const row = await db
        .selectFrom("log_outbox")
        .select("queued_at_ms")
        .where("target", "=", target)
        .orderBy("queued_at_ms")
        .limit(1)
        .executeTakeFirst();
      return row?.queued_at_ms;
    },

    async expire(target, beforeMs) {
      const removed = await db
        .deleteFrom("log_outbox")
        .where("target", "=", target)
        .where("queued_at_ms", "<", beforeMs)
        .executeTakeFirst();
      return Number(removed.numDeletedRows);
    },
  };
}

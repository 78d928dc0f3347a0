import { type Kysely, sql } from "kysely";
import type { LogOutbox, OutboxRecord } from "../../../domain/record/log-outbox.ts";
import type { Database } from "./schema.ts";

/** Engines limit the number of parameters per statement. */
const ROWS_PER_STATEMENT = 500;

export function logOutbox(db: Kysely<Database>): LogOutbox {
  return {
    async add(targets, records) {
      const rowsOf = (batch: readonly OutboxRecord[]) =>
        targets.flatMap((target) =>
          batch.map(({ requestId, record, queuedAtMs }) => ({
            target,
            request_id: requestId,
            queued_at_ms: queuedAtMs,
            record,
          })),
        );
      const free = records.filter(({ isCharged }) => !isCharged);
      const charged = new Map(records.filter(({ isCharged }) => isCharged).map((record) => [record.requestId, record]));
      for (const rows of chunk(rowsOf(free)))
        await db
          .insertInto("log_outbox")
          .values(rows)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
      for (const rows of chunk(rowsOf([...charged.values()])))
        await db
          .insertInto("log_outbox")
          .values(rows)
          .onConflict((conflict) =>
            conflict
              .columns(["target", "request_id"])
              // Always a later time than the replaced row, so that acknowledging the old version does not delete the new one.
              .doUpdateSet({
                record: sql`excluded.record`,
                queued_at_ms: sql`case when excluded.queued_at_ms > log_outbox.queued_at_ms
                  then excluded.queued_at_ms else log_outbox.queued_at_ms + 1 end`,
              })
              .whereRef("log_outbox.record", "<>", "excluded.record"),
          )
          .execute();
    },

    async nextBatch(target, limit) {
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

    async acknowledge(target, sent) {
      for (const rows of chunk(sent)) {
        const pairs = rows.map(({ requestId, queuedAtMs }) => sql`(${requestId}, cast(${queuedAtMs} as bigint))`);
        await db
          .deleteFrom("log_outbox")
          .where("target", "=", target)
          .where(
            "request_id",
            "in",
            rows.map(({ requestId }) => requestId),
          )
          .where(sql<boolean>`(request_id, queued_at_ms) in (values ${sql.join(pairs)})`)
          .execute();
      }
    },

    async oldestQueuedAtMs(target) {
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

function chunk<T>(rows: readonly T[]): T[][] {
  const chunks: T[][] = [];
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) chunks.push(rows.slice(at, at + ROWS_PER_STATEMENT));
  return chunks;
}

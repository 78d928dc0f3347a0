import type { Kysely, Selectable } from "kysely";
import type { ChargedKeyUse, IdempotencyStore } from "../../../domain/admission/idempotency.ts";
import type { Database } from "./schema.ts";

/** Reads and deletes only: ingest writes the rows together with their charges. */
export function idempotencyStore(db: Kysely<Database>): IdempotencyStore {
  return {
    async newest(nowMs, limit) {
      const rows = await db
        .selectFrom("idempotency_keys")
        .selectAll()
        .where("expires_at_ms", ">", nowMs)
        .orderBy("expires_at_ms", "desc")
        .limit(limit)
        .execute();
      return rows.map(toUse);
    },

    async find(key, nowMs) {
      const row = await db
        .selectFrom("idempotency_keys")
        .selectAll()
        .where("key_digest", "=", key)
        .where("expires_at_ms", ">", nowMs)
        .executeTakeFirst();
      return row === undefined ? undefined : toUse(row);
    },

    async sweep(nowMs, rowsMax) {
      const old = db
        .selectFrom("idempotency_keys")
        .select("key_digest")
        .where("expires_at_ms", "<=", nowMs)
        .orderBy("expires_at_ms")
        .limit(rowsMax);
      const { numDeletedRows } = await db
        .deleteFrom("idempotency_keys")
        .where("key_digest", "in", old)
        // Repeated, because the key may have been reused in between.
        .where("expires_at_ms", "<=", nowMs)
        .executeTakeFirst();
      return Number(numDeletedRows);
    },
  };
}

function toUse(row: Selectable<Database["idempotency_keys"]>): ChargedKeyUse {
  return {
    key: row.key_digest,
    body: row.body_digest,
    workspaceId: row.workspace_id,
    requestId: row.request_id,
    status: row.status,
    nanos: row.charged_nanos,
    currency: row.currency,
    expiresAtMs: row.expires_at_ms,
  };
}

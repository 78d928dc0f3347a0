import { type Kysely, sql } from "kysely";
import type { Promotion, PromotionStore } from "../../../domain/billing/promotion.ts";
import type { Database } from "./schema.ts";
import { StoreError } from "./store-error.ts";

export function promotionStore(db: Kysely<Database>): PromotionStore {
  return {
    async add({ id, workspaceId, nanos, grantedAtMs, expiresAtMs }) {
      await db
        .insertInto("promotions")
        .values({
          id,
          workspace_id: workspaceId,
          amount_nanos: nanos,
          granted_at_ms: grantedAtMs,
          expires_at_ms: expiresAtMs,
          expired_nanos: 0n,
          expiry_parts: 0,
          closed_at_ms: null,
        })
        .execute();
    },

    async list(workspaceId) {
      const rows = await db
        .selectFrom("promotions")
        .selectAll()
        .where("workspace_id", "=", workspaceId)
        .orderBy("granted_at_ms")
        .orderBy("id")
        .execute();
      return rows.map(toPromotion);
    },

    async due(nowMs) {
      const rows = await db
        .selectFrom("promotions")
        .select(["id", "workspace_id", "expires_at_ms"])
        .where("closed_at_ms", "is", null)
        .where("expires_at_ms", "<=", nowMs)
        .execute();
      return rows.map((row) => ({ id: row.id, workspaceId: row.workspace_id, expiresAtMs: row.expires_at_ms }));
    },

    async nextExpiryMs(afterMs) {
      const row = await db
        .selectFrom("promotions")
        .select("expires_at_ms")
        .where("closed_at_ms", "is", null)
        .where("expires_at_ms", ">", afterMs)
        .orderBy("expires_at_ms")
        .limit(1)
        .executeTakeFirst();
      return row?.expires_at_ms;
    },

    async recordExpiry(id, nanos) {
      const changed = await db
        .updateTable("promotions")
        .set({ expired_nanos: sql`expired_nanos + ${nanos}`, expiry_parts: sql`expiry_parts + 1` })
        .where("id", "=", id)
        .where("closed_at_ms", "is", null)
        .executeTakeFirst();
      if (changed.numUpdatedRows === 0n) throw new StoreError("rejected", `the credit ${id} is already settled`);
    },

    async close(id, atMs) {
      await db
        .updateTable("promotions")
        .set({ closed_at_ms: atMs })
        .where("id", "=", id)
        .where("closed_at_ms", "is", null)
        .execute();
    },
  };
}

function toPromotion(row: Database["promotions"]): Promotion {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    nanos: row.amount_nanos,
    grantedAtMs: row.granted_at_ms,
    expiresAtMs: row.expires_at_ms,
    expiredNanos: row.expired_nanos,
    expiryParts: row.expiry_parts,
    closedAtMs: row.closed_at_ms,
  };
}

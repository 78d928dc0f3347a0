import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import { type LimitStore, SPENDER_KINDS, type SpendLimits } from "../../../domain/tenancy/limits.ts";
import type { Database } from "./schema.ts";

export function limitStore(db: Kysely<Database>): LimitStore {
  return {
    async loadAll(only) {
      const all = db.selectFrom("spend_limits").selectAll().orderBy("spender_id");
      const rows = await (only === undefined ? all : all.where("workspace_id", "=", only)).execute();
      return rows.map(toLimits);
    },

    async save({ workspaceId, of, spenderId, dayNanos, monthNanos }) {
      const changes = { day_nanos: dayNanos, month_nanos: monthNanos };
      if (dayNanos === null && monthNanos === null)
        await db
          .deleteFrom("spend_limits")
          .where("workspace_id", "=", workspaceId)
          .where("spender", "=", of)
          .where("spender_id", "=", spenderId)
          .execute();
      else
        await db
          .insertInto("spend_limits")
          .values({ workspace_id: workspaceId, spender: of, spender_id: spenderId, ...changes })
          .onConflict((conflict) => conflict.columns(["workspace_id", "spender", "spender_id"]).doUpdateSet(changes))
          .execute();
    },
  };
}

const spender = z.enum(SPENDER_KINDS);

function toLimits(row: Selectable<Database["spend_limits"]>): SpendLimits {
  return {
    workspaceId: row.workspace_id,
    of: spender.parse(row.spender),
    spenderId: row.spender_id,
    dayNanos: row.day_nanos,
    monthNanos: row.month_nanos,
  };
}

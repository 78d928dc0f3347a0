import type { Kysely } from "kysely";
import type { DataKeyStore } from "../../../domain/tenancy/vault.ts";
import type { Database } from "./schema.ts";

export function dataKeyStore(db: Kysely<Database>): DataKeyStore {
  const find = async (workspaceId: string) => {
    const row = await db
      .selectFrom("data_keys")
      .select("wrapped")
      .where("workspace_id", "=", workspaceId)
      .executeTakeFirst();
    return row?.wrapped;
  };
  return {
    find,
    async add(workspaceId, wrapped) {
      await db
        .insertInto("data_keys")
        .values({ workspace_id: workspaceId, wrapped })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return (await find(workspaceId)) ?? wrapped;
    },
    async any() {
      const row = await db.selectFrom("data_keys").selectAll().orderBy("workspace_id").limit(1).executeTakeFirst();
      return row === undefined ? undefined : { workspaceId: row.workspace_id, wrapped: row.wrapped };
    },
  };
}

import type { Kysely, Selectable } from "kysely";
import type { DataKeyStore, DataKeyWriter, WrappedKey } from "../../../domain/tenancy/vault.ts";
import type { Database } from "./schema.ts";

export function dataKeyStore(db: Kysely<Database>): DataKeyStore {
  const rows = () => db.selectFrom("data_keys").selectAll();
  const find = async (workspaceId: string) => {
    const row = await rows().where("workspace_id", "=", workspaceId).executeTakeFirst();
    return row === undefined ? undefined : keyOf(row);
  };
  return {
    find,
    async add(key) {
      await db
        .insertInto("data_keys")
        .values({ workspace_id: key.workspaceId, wrapped: key.wrapped, master_key: key.masterKey })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return (await find(key.workspaceId)) ?? key;
    },
    async counts() {
      const found = await db
        .selectFrom("data_keys")
        .select(["master_key", (eb) => eb.fn.countAll().as("data_keys")])
        .groupBy("master_key")
        .orderBy("master_key")
        .execute();
      return found.map((row) => ({ masterKey: row.master_key, dataKeys: Number(row.data_keys) }));
    },
    async findWrappedBy(masterKey) {
      const row = await rows()
        .where("master_key", masterKey === null ? "is" : "=", masterKey)
        .limit(1)
        .executeTakeFirst();
      return row === undefined ? undefined : keyOf(row);
    },
    async listNotWrappedBy(masterKey, afterWorkspaceId, limit) {
      const found = await rows()
        .where("workspace_id", ">", afterWorkspaceId)
        .where((eb) => eb.or([eb("master_key", "is", null), eb("master_key", "!=", masterKey)]))
        .orderBy("workspace_id")
        .limit(limit)
        .execute();
      return found.map(keyOf);
    },
  };
}

export function dataKeyWriter(db: Kysely<Database>): DataKeyWriter {
  return {
    async rewrap(keys) {
      let changed = 0;
      for (const { before, after } of keys) {
        const { numUpdatedRows } = await db
          .updateTable("data_keys")
          .set({ wrapped: after.wrapped, master_key: after.masterKey })
          .where("workspace_id", "=", before.workspaceId)
          // Another instance may have rewrapped it already.
          .where("wrapped", "=", before.wrapped)
          .executeTakeFirst();
        changed += Number(numUpdatedRows);
      }
      return changed;
    },
  };
}

function keyOf(row: Selectable<Database["data_keys"]>): WrappedKey {
  return { workspaceId: row.workspace_id, wrapped: row.wrapped, masterKey: row.master_key };
}

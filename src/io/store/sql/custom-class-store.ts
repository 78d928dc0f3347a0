import type { Kysely, Selectable } from "kysely";
import type { CustomClass, CustomClassStore } from "../../../domain/tenancy/custom-class.ts";
import type { Database } from "./schema.ts";

type CustomClassRow = Selectable<Database["custom_classes"]>;

const METADATA = [
  ...(["workspace_id", "name", "version", "terms", "patterns", "changed_at_ms", "changed_by"] as const),
] as const;

export function customClassStore(db: Kysely<Database>): CustomClassStore {
  return {
    async all(only) {
      const all = db.selectFrom("custom_classes").select(METADATA).orderBy("workspace_id").orderBy("name");
      const rows = await (only === undefined ? all : all.where("workspace_id", "=", only)).execute();
      return rows.map(classOf);
    },
    async definition(workspaceId, name) {
      const row = await db
        .selectFrom("custom_classes")
        .select(["version", "definition"])
        .where("workspace_id", "=", workspaceId)
        .where("name", "=", name)
        .executeTakeFirst();
      return row === undefined ? undefined : { version: row.version, sealed: row.definition };
    },
    async save(customClass, definition) {
      const { workspace_id, name, ...changed } = { ...rowOf(customClass), definition };
      await db
        .insertInto("custom_classes")
        .values({ workspace_id, name, ...changed })
        .onConflict((conflict) => conflict.columns(["workspace_id", "name"]).doUpdateSet(changed))
        .execute();
    },
    async remove(workspaceId, name) {
      await db.deleteFrom("custom_classes").where("workspace_id", "=", workspaceId).where("name", "=", name).execute();
    },
  };
}

function rowOf(one: CustomClass): Omit<CustomClassRow, "definition"> {
  return {
    workspace_id: one.workspaceId,
    name: one.name,
    version: one.version,
    terms: one.termCount,
    patterns: one.patternCount,
    changed_at_ms: one.changedAtMs,
    changed_by: one.changedBy,
  };
}

function classOf(row: Omit<CustomClassRow, "definition">): CustomClass {
  return {
    workspaceId: row.workspace_id,
    name: row.name,
    version: row.version,
    termCount: row.terms,
    patternCount: row.patterns,
    changedAtMs: row.changed_at_ms,
    changedBy: row.changed_by,
  };
}

import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import type { NodeStore, WorkspaceNode } from "../../../domain/tenancy/node.ts";
import type { Database } from "./schema.ts";

type NodeRow = Selectable<Database["nodes"]>;

/** Well below the parameter limit of either engine. */
const IDS_PER_STATEMENT = 500;

/** The column is not nullable; no policy allows the empty country. */
const UNDECLARED_COUNTRY = "";

const Mapping = z.record(z.string(), z.string());

export function nodeStore(db: Kysely<Database>): NodeStore {
  const inOrder = db.selectFrom("nodes").selectAll().orderBy("created_at_ms").orderBy("id");
  return {
    async loadAll() {
      return (await inOrder.execute()).map(nodeOf);
    },
    async loadWorkspace(workspaceId) {
      return (await inOrder.where("workspace_id", "=", workspaceId).execute()).map(nodeOf);
    },
    async save(node) {
      const row = rowOf(node);
      // Only these columns of an existing node change; `last_seen_at_ms` is written separately.
      const { country, digest, mapping } = row;
      await db
        .insertInto("nodes")
        .values(row)
        .onConflict((conflict) => conflict.column("id").doUpdateSet({ country, digest, mapping }))
        .execute();
    },
    async remove(nodeId) {
      await db.deleteFrom("nodes").where("id", "=", nodeId).execute();
    },
    async recordSeen(nodeIds, atMs) {
      for (let at = 0; at < nodeIds.length; at += IDS_PER_STATEMENT)
        await db
          .updateTable("nodes")
          .set({ last_seen_at_ms: Math.trunc(atMs) })
          .where("id", "in", nodeIds.slice(at, at + IDS_PER_STATEMENT))
          .execute();
    },
  };
}

function rowOf(node: WorkspaceNode): NodeRow {
  return {
    id: node.id,
    workspace_id: node.workspaceId,
    name: node.name,
    country: node.country ?? UNDECLARED_COUNTRY,
    digest: node.digest,
    created_at_ms: node.createdAtMs,
    created_by: node.createdBy,
    mapping: JSON.stringify(node.mapping),
    last_seen_at_ms: node.lastSeenAtMs,
  };
}

function nodeOf(row: NodeRow): WorkspaceNode {
  return {
    id: row.id,
    workspaceId: row.workspace_id,
    name: row.name,
    country: row.country === UNDECLARED_COUNTRY ? null : row.country,
    digest: row.digest,
    createdAtMs: row.created_at_ms,
    createdBy: row.created_by,
    mapping: Mapping.parse(JSON.parse(row.mapping)),
    lastSeenAtMs: row.last_seen_at_ms,
  };
}

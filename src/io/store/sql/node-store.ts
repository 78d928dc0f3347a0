import type { Kysely, Selectable } from "kysely";
import { z } from "zod";
import {
  ATTESTED_LEVELS,
  type LevelAttestation,
  NODE_SURFACES,
  type NodeStore,
  type WorkspaceNode,
} from "../../../domain/tenancy/node.ts";
import type { Database } from "./schema.ts";

type NodeRow = Selectable<Database["nodes"]>;

/** Well below the parameter limit of either engine. */
const IDS_PER_STATEMENT = 500;

/** The column is not nullable; no policy allows the empty country. */
const UNDECLARED_COUNTRY = "";

const Mapping = z.record(z.string(), z.string());
const Surfaces = z.record(z.string(), z.array(z.enum(NODE_SURFACES)));
const Attestations: z.ZodType<LevelAttestation[]> = z.array(
  z.object({
    level: z.enum(ATTESTED_LEVELS),
    name: z.string(),
    reason: z.string(),
    atMs: z.number(),
    recordedBy: z.string(),
    endedAtMs: z.number().nullable(),
  }),
);

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
      const { country, digest, mapping, attestations, surfaces } = row;
      await db
        .insertInto("nodes")
        .values(row)
        .onConflict((conflict) =>
          conflict.column("id").doUpdateSet({ country, digest, mapping, attestations, surfaces }),
        )
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
    attestations: node.attestations.length === 0 ? null : JSON.stringify(node.attestations),
    surfaces: Object.keys(node.surfaces).length === 0 ? null : JSON.stringify(node.surfaces),
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
    attestations: row.attestations === null ? [] : Attestations.parse(JSON.parse(row.attestations)),
    surfaces: row.surfaces === null ? {} : Surfaces.parse(JSON.parse(row.surfaces)),
  };
}

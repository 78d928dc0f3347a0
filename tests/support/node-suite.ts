import { describe, expect, test } from "vitest";
import type { WorkspaceNode } from "../../src/domain/tenancy/node.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { withWorkspaces } from "./workspaces.ts";

const NODE: WorkspaceNode = {
  id: "node_1",
  workspaceId: "ws_1",
  name: "rack",
  country: "DE",
  digest: "a".repeat(64),
  createdAtMs: 1,
  createdBy: "ada@example.eu",
  mapping: { "llama3:8b": "meta/llama-3-8b" },
  lastSeenAtMs: null,
  surfaces: { "bge-m3": ["embeddings"] },
  attestations: [
    { level: "L2", name: "Ada", reason: "our rack", atMs: 1, recordedBy: "ada@example.eu", endedAtMs: 2 },
    { level: "L3", name: "Ada", reason: "our building", atMs: 2, recordedBy: "ada@example.eu", endedAtMs: null },
  ],
};
const OTHER: WorkspaceNode = {
  ...NODE,
  id: "node_2",
  workspaceId: "ws_2",
  digest: "b".repeat(64),
  country: null,
  createdAtMs: 2,
  mapping: {},
  surfaces: {},
  attestations: [],
};

/** Workspaces' nodes. */
export function nodeTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("nodes", () => {
    test("NODE-01 nodes are stored, changed, seen and removed; names are unique per workspace", async () => {
      await withWorkspaces(store());
      const { nodes } = store();
      await nodes.save(NODE);
      await nodes.save(OTHER);
      await expect(nodes.save({ ...NODE, id: "node_3", digest: "c".repeat(64) })).rejects.toThrow();
      await expect(nodes.save({ ...NODE, id: "node_3", name: "other" })).rejects.toThrow();
      expect((await nodes.loadWorkspace("ws_2")).map(({ country }) => country)).toEqual([null]);
      await nodes.recordSeen(["node_2", "node_9"], 1234.7);
      // The last-seen time in a change is older than the stored one.
      await nodes.save({ ...OTHER, country: "FR", digest: "d".repeat(64), mapping: { 'm\n"': "x/y" } });
      const kept = await (await reopen()).nodes.loadAll();
      expect(kept).toEqual([
        NODE,
        { ...OTHER, country: "FR", digest: "d".repeat(64), mapping: { 'm\n"': "x/y" }, lastSeenAtMs: 1234 },
      ]);
      expect((await store().nodes.loadWorkspace("ws_2")).map(({ id }) => id)).toEqual(["node_2"]);
      await store().nodes.remove("node_1");
      await store().nodes.remove("node_1");
      await store().nodes.recordSeen(["node_1"], 5);
      expect((await store().nodes.loadAll()).map(({ id }) => id)).toEqual(["node_2"]);
    });
  });
}

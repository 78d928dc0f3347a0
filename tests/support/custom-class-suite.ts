import { describe, expect, test } from "vitest";
import type { CustomClass } from "../../src/domain/tenancy/custom-class.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { withWorkspaces } from "./workspaces.ts";

const PROJECTS: CustomClass = {
  workspaceId: "ws_1",
  name: "acme-projects",
  version: 1,
  termCount: 2,
  patternCount: 1,
  changedAtMs: 5,
  changedBy: "ada",
};

/** Data classes that workspaces define: stored sealed, one per name. */
export function customClassTests(store: () => Store, reopen: () => Promise<Store>): void {
  describe("own data classes", () => {
    test("CLASS-01 own classes are stored, replaced and removed, each for its workspace", async () => {
      await withWorkspaces(store());
      const others: CustomClass = { ...PROJECTS, workspaceId: "ws_2" };
      await store().customClasses.save(PROJECTS, Buffer.from([0, 1, 255]));
      await store().customClasses.save(others, Buffer.from([7]));
      const changed: CustomClass = { ...PROJECTS, version: 2, termCount: 100_000, changedBy: "eve" };
      await store().customClasses.save(changed, Buffer.from([9, 8]));
      const again = (await reopen()).customClasses;
      expect(await again.all()).toEqual([changed, others]);
      expect(await again.all("ws_2")).toEqual([others]);
      const stored = await again.definition("ws_1", "acme-projects");
      expect([stored?.version, [...(stored?.sealed ?? [])]]).toEqual([2, [9, 8]]);
      expect(await again.definition("ws_2", "unknown")).toBeUndefined();
      await again.remove("ws_1", "acme-projects");
      expect(await again.all()).toEqual([others]);
    });
  });
}

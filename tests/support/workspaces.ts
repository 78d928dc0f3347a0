import { OPEN_POLICY } from "../../src/domain/tenancy/policy.ts";
import type { Workspace } from "../../src/domain/tenancy/workspace.ts";
import type { Store } from "../../src/io/store/sql/store.ts";

/** A plain workspace. */
export const plainWorkspace = (id: string): Workspace => ({
  id,
  slug: id.replace("_", "-"),
  name: id,
  currency: "EUR",
  createdAtMs: 1,
  policy: OPEN_POLICY,
  keyPolicy: { personalKeys: true, approval: false, ipAllowlist: null },
});

/** A parent row for other rows. */
export async function withWorkspaces(store: Store, ...ids: readonly string[]): Promise<void> {
  for (const id of ids.length > 0 ? ids : ["ws_1", "ws_2"]) await store.tenancy.saveWorkspace(plainWorkspace(id));
}

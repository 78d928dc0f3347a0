import type { OwnKeyRoom } from "./app/manage/deps.ts";
import type { Captures } from "./app/pipeline/captures.ts";
import type { Prober } from "./app/prober/prober.ts";
import type { AlertWatch } from "./domain/alerts/watch.ts";
import { type MarginBook, readMargin } from "./domain/billing/margin.ts";
import type { RateBook } from "./domain/catalogue/rates.ts";
import type { Reloading } from "./domain/fleet/fleet.ts";
import type { Directory } from "./domain/tenancy/directory.ts";
import type { Store } from "./io/store/sql/store.ts";
import type { Nodes } from "./io/tunnel/nodes.ts";
import { reloadNodes } from "./parts-nodes.ts";

/** Everything that is in SQL and in the memory of this process as well. */
export type Copies = {
  readonly store: Store;
  readonly directory: Directory;
  readonly ownKeys: Pick<OwnKeyRoom, "reload">;
  readonly nodes: Nodes;
  readonly watch: AlertWatch;
  readonly captures: Captures;
  readonly margins: MarginBook;
  readonly rateBook: RateBook;
  readonly prober: Prober;
};

/** Loads again what others have changed. */
export function reloading(copies: Copies): Reloading {
  const { store, directory, rateBook, prober } = copies;
  const deployment = async () => {
    rateBook.put(await store.rates.latest());
    await prober.follow();
  };
  const workspace = (workspaceId: string) => reloadWorkspace(copies, workspaceId);
  return {
    workspace,
    deployment,
    async everything() {
      await deployment();
      const { workspaces } = await store.tenancy.loadAll();
      const ids = new Set([...directory.workspaces(), ...workspaces].map(({ id }) => id));
      for (const id of ids) await workspace(id);
    },
  };
}

async function reloadWorkspace(copies: Copies, workspaceId: string): Promise<void> {
  const { store, directory, ownKeys, nodes, watch, captures, margins } = copies;
  const [tenants, limits, [margin], [rules]] = await Promise.all([
    store.tenancy.loadAll(workspaceId),
    store.limits.loadAll(workspaceId),
    store.margins.loadAll(workspaceId),
    store.alerts.rules.all(workspaceId),
    ownKeys.reload(workspaceId),
    reloadNodes(store, nodes, workspaceId),
    captures.reload(workspaceId),
  ]);
  directory.replace(workspaceId, tenants, limits);
  margins.put(workspaceId, margin === undefined ? null : (readMargin(margin.share) ?? null));
  if (rules === undefined) watch.drop(workspaceId);
  else watch.put(rules);
}

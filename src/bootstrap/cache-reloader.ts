import type { CustomClassManagement, OwnKeyManagement } from "../app/manage/deps.ts";
import type { ContentCaptures } from "../app/pipeline/content-captures.ts";
import type { Prober } from "../app/prober/prober.ts";
import type { AlertMonitor } from "../domain/alerts/alert-monitor.ts";
import type { MarginRegistry } from "../domain/billing/charge.ts";
import { parseMargin } from "../domain/billing/margin.ts";
import type { RateRegistry } from "../domain/catalogue/exchange-rates.ts";
import type { CacheReloader } from "../domain/fleet/fleet.ts";
import type { ReplyCache } from "../domain/response-cache/reply-cache.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { NodeRegistry } from "../io/tunnel/node-registry.ts";
import { reloadNodes } from "./nodes.ts";
import type { HttpTransport } from "./providers.ts";

/** Everything that this process caches from SQL. */
type CachedData = {
  readonly store: Store;
  readonly directory: Directory;
  readonly providerKeys: Pick<OwnKeyManagement, "reload">;
  readonly customClasses: Pick<CustomClassManagement, "reload">;
  readonly nodes: NodeRegistry;
  readonly alertMonitor: AlertMonitor;
  readonly captures: ContentCaptures;
  readonly margins: MarginRegistry;
  readonly responseCache: Pick<ReplyCache, "drop"> | undefined;
  readonly rates: RateRegistry;
  readonly prober: Prober;
  readonly transport: Pick<HttpTransport, "loadIsolation">;
  /** Does nothing where the master key is a setting. */
  reloadMasterKeys(): Promise<void>;
};

/** Reloads what other instances have changed in SQL. */
export function createCacheReloader(caches: CachedData): CacheReloader {
  const { store, directory, providerKeys, rates, prober, transport, reloadMasterKeys } = caches;
  const reloadDeployment = async () => {
    await reloadMasterKeys();
    await providerKeys.reload(null);
    rates.apply(await store.rates.latest());
    await prober.loadNew();
    await transport.loadIsolation();
  };
  return {
    reloadWorkspace: (workspaceId) => reloadWorkspace(caches, workspaceId),
    reloadDeployment,
    async reloadAll() {
      await reloadDeployment();
      const { workspaces } = await store.tenancy.loadAll();
      const ids = new Set([...directory.workspaces(), ...workspaces].map(({ id }) => id));
      for (const id of ids) await reloadWorkspace(caches, id);
    },
  };
}

async function reloadWorkspace(caches: CachedData, workspaceId: string): Promise<void> {
  const { store, directory, providerKeys, customClasses, nodes, alertMonitor, captures, margins } = caches;
  const [tenants, limits, [margin], [rules]] = await Promise.all([
    store.tenancy.loadAll(workspaceId),
    store.limits.loadAll(workspaceId),
    store.margins.loadAll(workspaceId),
    store.alerts.rules.all(workspaceId),
    providerKeys.reload(workspaceId),
    customClasses.reload(workspaceId),
    reloadNodes(store, nodes, workspaceId),
    captures.reload(workspaceId),
  ]);
  directory.replace(workspaceId, tenants, limits);
  // Its replies may have been purged.
  caches.responseCache?.drop(workspaceId);
  margins.set(workspaceId, margin === undefined ? null : (parseMargin(margin.share) ?? null));
  if (rules === undefined) alertMonitor.removeRules(workspaceId);
  else alertMonitor.putRules(rules);
}

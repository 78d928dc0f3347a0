import { openIngestPipeline, replayAbandonedJournal } from "../io/journal/ingest-pipeline.ts";
import { withTunnels } from "../io/upstream/connections.ts";
import { workerFolders } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { Config } from "../settings/config.ts";
import { openCustomClasses } from "./custom-classes.ts";
import {
  component,
  type GatewayComponentSet,
  type GatewayComponents,
  type GatewayInput,
} from "./gateway-components.ts";
import { openLogExport } from "./log-export.ts";
import { createNodeRegistry, reloadNodes } from "./nodes.ts";
import { openPeerLinks } from "./peer-links.ts";
import { openProber } from "./proofs.ts";
import { createOwnKeys, openProviderKeys } from "./provider-keys.ts";
import { connectProviders, createHttpTransport } from "./providers.ts";
import { loadTenants, logRetainedFromMs, openStorage } from "./store.ts";

type StorageName =
  | "storage"
  | "nodes"
  | "transport"
  | "providers"
  | "storePreparation"
  | "upstreamIsolation"
  | "fleetMembership"
  | "prober"
  | "logExport"
  | "journal"
  | "ownKeys"
  | "providerKeys"
  | "customClasses"
  | "tenants"
  | "wallets"
  | "nodeRegistrations"
  | "peerLinks";

/** The store, and what is loaded from it before requests are served. */
export function storageComponents(input: GatewayInput): Pick<GatewayComponentSet, StorageName> {
  return { ...storeAndProviders(input), ...loadedState(input) };
}

function storeAndProviders({ config, worker, prepareStore }: GatewayInput) {
  return {
    storage: component(
      ["ids", "log", "coordination", "placement"],
      ({ ids, log, coordination: { fleet }, placement: { directory } }) =>
        openStorage(config, { ids, log, fleet, directory, inheritedLock: worker?.databaseLock }),
      {
        async close({ store }) {
          await store.close();
          return undefined;
        },
      },
    ),
    nodes: component(["rates", "storage", "ids", "log"], ({ rates, storage: { store }, ids, log }) =>
      createNodeRegistry(config, { snapshot: () => rates.snapshot, store, ids, log }),
    ),
    transport: component(
      ["nodes", "storage", "ids", "log", "metrics"],
      ({ nodes, storage: { store }, ids, log, metrics }) => {
        const http = createHttpTransport(config, { store, ids, log, metrics });
        return { ...withTunnels(http, nodes), loadIsolation: http.loadIsolation };
      },
    ),
    providers: component(["rates", "sandbox", "transport"], ({ rates, sandbox, transport }) =>
      connectProviders(config, { catalogue: rates, sandboxOrigins: sandbox?.origins ?? {}, transport }),
    ),
    storePreparation: component(
      ["storage", "providers", "rates"],
      async ({ storage: { store }, providers: { connections }, rates }) => {
        await prepareStore?.(store, { connections, catalogue: rates });
        return undefined;
      },
    ),
    fleetMembership: component(
      ["coordination", "storage", "storePreparation"],
      async ({ coordination, storage: { store } }) => {
        await coordination.join(store);
        return coordination;
      },
      // The store is still open: what the shared state has not taken may be written there.
      { close: (coordination) => coordination.close() },
    ),
    upstreamIsolation: component(["transport", "fleetMembership"], async ({ transport }) => {
      await transport.loadIsolation();
      return undefined;
    }),
    ownKeys: component(["rates", "transport", "providers"], ({ rates, transport, providers }) =>
      createOwnKeys(config, {
        catalogue: rates,
        transport,
        platform: () => ({ ...providers, reach: providers.reachability }),
      }),
    ),
  };
}

function loadedState({ config, version, random }: GatewayInput) {
  return {
    prober: component(
      ["storage", "fleetMembership", "rates", "providers", "transport", "ids", "coordination", "metrics", "log"],
      ({ storage: { store }, rates, providers, transport, ids, coordination: { fleet }, metrics, log }) => {
        const { connections, proofs } = providers;
        const snapshot = () => rates.snapshot;
        return openProber(config, store, { proofs, snapshot, connections, transport, ids, fleet, metrics, log });
      },
      { ready: ({ prober }) => prober.start() },
    ),
    logExport: component(
      ["storage", "fleetMembership", "directory", "ids", "metrics", "coordination", "log"],
      ({ storage: { store }, directory, ids, metrics, coordination: { fleet }, log }) =>
        openLogExport(config, { store, directory, ids, metrics, version, fleet, random, log }),
      { ready: (logExport) => logExport.start() },
    ),
    journal: component(
      ["storage", "coordination", "fleetMembership", "logExport", "placement", "log"],
      (deps) => openJournal(config, random, deps),
      {
        async close({ pipeline, ingestBarrier }) {
          const result = await pipeline.close();
          ingestBarrier.stop();
          return result === "left" ? "unflushed" : "clean";
        },
      },
    ),
    providerKeys: component(
      ["storage", "fleetMembership", "ownKeys", "rates", "transport", "providers", "log"],
      ({ storage: { store, vault }, ownKeys, rates, transport, providers, log }) => {
        const { connections, addresses, serviceAccountOnly } = providers;
        const snapshot = () => rates.snapshot;
        return openProviderKeys(store, {
          ownKeys,
          vault,
          snapshot,
          transport,
          connections,
          addresses,
          serviceAccountOnly,
          log,
        });
      },
    ),
    customClasses: component(["storage", "fleetMembership", "metrics"], ({ storage: { store, vault }, metrics }) =>
      openCustomClasses(config, store, { vault, metrics }),
    ),
    tenants: component(["storage", "fleetMembership", "directory"], async ({ storage: { store }, directory }) => {
      await loadTenants(store, directory);
      return undefined;
    }),
    // Balances in SQL are complete only after the journal was replayed.
    wallets: component(
      ["coordination", "storage", "tenants", "directory", "journal"],
      async ({ coordination, storage: { store }, directory, journal: { pipeline } }) => {
        await coordination.openWallets(store, directory, pipeline);
        return undefined;
      },
    ),
    nodeRegistrations: component(
      ["storage", "fleetMembership", "wallets", "nodes"],
      async ({ storage: { store }, nodes }) => {
        await reloadNodes(store, nodes, null);
        return undefined;
      },
    ),
    peerLinks: component(
      ["coordination", "storage", "nodes", "nodeRegistrations", "metrics", "log"],
      ({ coordination: { store, fleet }, storage: { masterKeys }, nodes, metrics, log }) =>
        openPeerLinks(config, { store, fleet, masterKeys, nodes, metrics, log }),
      {
        drain: (peerLinks) => peerLinks.drain(config.GATEWAY_DRAIN_TIMEOUT_MS),
        async close(peerLinks) {
          await peerLinks.close();
          return undefined;
        },
      },
    ),
  };
}

type JournalDeps = Pick<GatewayComponents, "storage" | "coordination" | "logExport" | "placement" | "log">;

/** Replays the journals of orphaned folders, then opens the journal of this process. */
async function openJournal(
  config: Config,
  random: () => number,
  deps: JournalDeps,
): Promise<GatewayComponents["journal"]> {
  const { storage, coordination, logExport, placement, log } = deps;
  const store = coordination.ingestSink(logExport.sink, storage.store);
  const ingest = { store, log, logRetainedFromMs: logRetainedFromMs(config) };
  for (const { dataDir } of placement.orphans) await replayAbandonedJournal(dataDir, ingest);
  const pipeline = await openIngestPipeline({
    ...ingest,
    serializeRecord: storage.store.encodeRecord,
    dataDir: placement.dataDir,
    dataDirs: () => [config.DATA_DIR, ...workerFolders(config.DATA_DIR)],
    clock: systemClock,
    random,
    syncEveryMs: config.GATEWAY_JOURNAL_SYNC_MS,
  });
  return { pipeline, ingestBarrier: coordination.createIngestBarrier(pipeline) };
}

import path from "node:path";
import { LedgerPoster } from "../app/manage/money/ledger-poster.ts";
import { fleetMutationLock } from "../app/manage/mutation-lock.ts";
import { ContentCaptures } from "../app/pipeline/content-captures.ts";
import { compressResponses } from "../app/response-compression.ts";
import { requestHandlers } from "../app/surfaces/request-cost.ts";
import { ROUTES } from "../contract/routes.ts";
import { watchDiskSpace } from "../io/disk-space.ts";
import { EndpointStateSync } from "../io/fleet/endpoint-state-sync.ts";
import { openUploadReader } from "../io/uploads/upload-reader.ts";
import { systemClock } from "../kit/clock.ts";
import { systemTimers } from "../kit/timers.ts";
import { createAccounts } from "./accounts.ts";
import { startAlerts } from "./alerts.ts";
import { createLogRetention, createStoreStatistics, startSweeper } from "./background-tasks.ts";
import { batchRoutes, openBatches } from "./batches.ts";
import { createCacheReloader } from "./cache-reloader.ts";
import { runFirstStart } from "./first-start.ts";
import {
  component,
  type GatewayComponentSet,
  type GatewayComponents,
  type GatewayInput,
  type TrafficDeps,
} from "./gateway-components.ts";
import {
  generatedDocumentHandlers,
  managementHandlers,
  probeHandlers,
  publicStatusHandlers,
  surfaceHandlers,
} from "./handlers.ts";
import { enabledSurfaces, listen } from "./listener.ts";
import { createManageContext } from "./manage-context.ts";
import { createOverloadProtection } from "./overload-protection.ts";
import { createPipelineDeps } from "./pipeline-deps.ts";
import { loadPrices, openPayments, startRateUpdater } from "./pricing.ts";
import { createResponseCache } from "./response-cache.ts";
import { openStoredResponses } from "./responses.ts";
import { openStatus } from "./status.ts";
import { gaugeSources, openTelemetry } from "./telemetry.ts";

type ServingName =
  | "alerts"
  | "overload"
  | "gauges"
  | "telemetry"
  | "captures"
  | "margins"
  | "responseCache"
  | "gateway"
  | "disk"
  | "responses"
  | "tenancy"
  | "mutationLock"
  | "money"
  | "rateUpdater"
  | "cacheReloader"
  | "accounts"
  | "manage"
  | "changeFeed"
  | "endpointSync"
  | "uploads"
  | "batches"
  | "status"
  | "traffic"
  | "firstStart"
  | "backgroundTasks"
  | "sandboxProofs";

/** The request path, the management API, and the work beside requests. */
export function servingComponents(input: GatewayInput): Pick<GatewayComponentSet, ServingName> {
  return { ...requestPath(input), ...management(input), ...trafficComponents(input) };
}

function requestPath({ config, version, random, onResponseTurn }: GatewayInput) {
  return {
    alerts: component(
      ["storage", "alertMonitor", "directory", "tenants", "state", "wallets", "ownKeys", "ids", "metrics", "log"],
      ({ storage: { store, vault }, alertMonitor: monitor, directory, state, ownKeys, ids, metrics, log }) =>
        startAlerts(config, store, { monitor, directory, state, ownKeys, vault, ids, random, metrics, log }),
    ),
    overload: component([], () => createOverloadProtection(config, random)),
    gauges: component(
      ["metrics", "listener", "journal", "overload", "nodes", "coordination"],
      ({ metrics, listener: { edge }, journal: { pipeline }, overload, nodes, coordination }) => {
        metrics.registerGauges(gaugeSources({ edge, journal: pipeline, overload, nodes, coordination }));
        return undefined;
      },
    ),
    telemetry: component(
      ["metrics", "gauges", "rates", "providers", "coordination", "log"],
      ({ metrics, rates, providers: { connections }, coordination: { fleet }, log }) =>
        openTelemetry(config, { metrics, snapshot: () => rates.snapshot, connections, version, fleet, log }),
      {
        async close(telemetry) {
          await telemetry.close();
          return undefined;
        },
      },
    ),
    captures: component(
      ["storage", "directory", "tenants", "log"],
      async ({ storage: { store, vault }, directory, log }) => {
        const captureStore = store.captures(vault);
        const captures = new ContentCaptures({
          store: captureStore,
          clock: systemClock,
          limits: {
            itemMaxBytes: config.GATEWAY_CAPTURE_ITEM_MAX_BYTES,
            windowMaxBytes: config.GATEWAY_CAPTURE_WINDOW_MAX_BYTES,
          },
          mayKeep: (workspaceId, keyId) => directory.policyOf(workspaceId, keyId)?.zeroDataRetention === false,
          warn: (detail, message) => log.warn(detail, message),
        });
        await captures.load();
        return { captures, captureStore };
      },
    ),
    margins: component(["storage", "fleetMembership", "rates", "ids"], ({ storage: { store }, rates, ids }) =>
      loadPrices(config, store, rates, ids),
    ),
    responseCache: component(
      ["storage", "disk", "coordination", "log"],
      (deps): GatewayComponents["responseCache"] => createResponseCache(config, deps),
      {
        async close(cache) {
          await cache?.settled();
          return undefined;
        },
      },
    ),
    gateway: component(
      [
        ...["rates", "providers", "ownKeys", "customClasses", "nodes", "overload", "state", "wallets", "transport"],
        ...["captures", "journal", "directory", "margins", "storage", "telemetry", "metrics"],
        ...["alertMonitor", "operatorEvents", "log", "responseCache"],
      ] as const,
      (deps) => createPipelineDeps(config, { ...deps, onResponseTurn }),
    ),
    disk: component(
      ["placement"],
      ({ placement: { dataDir } }) => watchDiskSpace(dataDir, config.GATEWAY_DISK_FREE_MIN_BYTES),
      {
        close(disk) {
          disk.close();
          return undefined;
        },
      },
    ),
    responses: component(
      ["storage", "directory", "disk", "coordination", "ids", "log", "gateway"],
      ({ storage: { store, vault }, directory, disk, coordination, ids, log, gateway }) =>
        openStoredResponses(config, { store, vault, directory, disk, coordination, ids, log }, gateway),
      {
        drain: ({ jobs }) => jobs.drain(config.GATEWAY_DRAIN_TIMEOUT_MS),
        async close(responses) {
          await responses.close();
          return undefined;
        },
      },
    ),
  };
}

function management(input: GatewayInput) {
  const { config, hashCost } = input;
  return {
    tenancy: component(
      ["storage", "directory", "state", "coordination", "captures", "ids", "rates"],
      ({ storage: { store }, directory, state, coordination, captures: { captures }, ids, rates }) => ({
        store,
        directory,
        state,
        ledgerPoster: new LedgerPoster({
          state,
          ledger: store.ledger,
          clock: systemClock,
          walletGeneration: () => coordination.walletGeneration,
        }),
        captures,
        clock: systemClock,
        ids,
        snapshot: () => rates.snapshot,
      }),
    ),
    mutationLock: component(["coordination"], ({ coordination: { fleet } }) => fleetMutationLock(fleet)),
    money: component(
      ["tenancy", "storage", "mutationLock", "journal", "responses", "log"],
      ({ tenancy, storage: { store }, mutationLock, journal: { ingestBarrier }, log }) =>
        openPayments(config, { ...tenancy, store, mutationLock, waitForIngest: ingestBarrier.all }, log),
    ),
    rateUpdater: component(
      ["tenancy", "storage", "rates", "margins", "mutationLock", "coordination", "log", "transport"],
      ({ tenancy, storage: { store }, rates, mutationLock, coordination: { fleet }, log, transport }) =>
        startRateUpdater(config, {
          tenancy,
          store: store.rates,
          rateBook: rates,
          mutationLock,
          fleet,
          log,
          transport,
        }),
    ),
    cacheReloader: component(
      [
        ...["storage", "directory", "providerKeys", "nodes", "alertMonitor", "captures", "margins", "rates"],
        ...["customClasses", "prober", "transport", "upstreamIsolation", "responseCache"],
      ] as const,
      ({ storage, captures: { captures }, prober: { prober }, ...caches }) => {
        const { store, reloadMasterKeys } = storage;
        return createCacheReloader({ ...caches, store, captures, prober, reloadMasterKeys });
      },
    ),
    accounts: component(
      [
        ...["storage", "directory", "tenants", "cacheReloader", "ids", "log", "listener"],
        ...["mutationLock", "transport", "secrets"],
      ] as const,
      ({ storage, directory, cacheReloader, ids, log, listener, mutationLock, transport, secrets }) => {
        const { store, vault } = storage;
        const [{ origin }, { adminToken }] = [listener, secrets];
        const shared = { store, vault, directory, cacheReloader, ids, log, mutationLock, transport };
        return createAccounts(config, { ...shared, origin, adminToken, hashCost });
      },
    ),
    manage: component(
      [
        ...["tenancy", "mutationLock", "storage", "providers", "responses", "providerKeys", "rateUpdater"],
        "customClasses",
        ...["prober", "captures", "alerts", "journal", "gateway", "money", "nodes", "coordination"],
        ...["overload", "disk", "logExport", "operatorEvents", "responseCache"],
      ] as const,
      (deps) => createManageContext(input, deps),
    ),
    changeFeed: component(
      ["coordination", "fleetMembership", "cacheReloader", "manage"],
      async ({ coordination, cacheReloader }) => {
        await coordination.follow(cacheReloader);
        return undefined;
      },
    ),
    endpointSync: component(
      ["coordination", "changeFeed", "gateway"],
      ({ coordination, gateway }) => startEndpointSync(coordination, gateway),
      {
        async close(endpointSync) {
          await endpointSync?.close();
          return undefined;
        },
      },
    ),
  };
}

/** Shares circuit states and latencies of endpoints among instances; undefined for a single instance. */
async function startEndpointSync(
  { store, fleet }: GatewayComponents["coordination"],
  { breakers, health, trafficStats, catalogue }: GatewayComponents["gateway"],
): Promise<EndpointStateSync | undefined> {
  if (store === undefined) return undefined;
  const sync = new EndpointStateSync({
    fleet,
    store,
    breakers,
    health,
    learned: trafficStats,
    clock: systemClock,
    timers: systemTimers,
    hasEndpoint: (endpointId) => catalogue.snapshot.endpoints.has(endpointId),
  });
  await sync.start();
  return sync;
}

function trafficComponents(input: GatewayInput) {
  const { config } = input;
  return {
    uploads: component(["placement", "disk"], ({ placement: { dataDir }, disk }) => {
      // A total below the size of one upload would reject every upload.
      const { GATEWAY_UPLOAD_MAX_BYTES: uploadMaxBytes, GATEWAY_FILE_MAX_BYTES: fileMaxBytes } = config;
      const totalMaxBytes = Math.max(config.GATEWAY_UPLOADS_MAX_BYTES, uploadMaxBytes, fileMaxBytes);
      return openUploadReader(path.join(dataDir, "tmp"), disk, totalMaxBytes);
    }),
    batches: component(
      [
        ...["gateway", "storage", "directory", "disk", "coordination", "journal", "ids", "log", "uploads"],
        ...["providers", "wallets"],
      ] as const,
      (deps) => openBatches(config, deps),
      {
        drain: ({ runner }) => runner?.drain(config.GATEWAY_DRAIN_TIMEOUT_MS),
        async close({ runner }) {
          await runner?.stop();
          return undefined;
        },
      },
    ),
    status: component(
      ["gateway", "storage", "coordination", "ids", "log"],
      (deps) => openStatus(config, deps),
      // After the traffic, so that the last requests count.
      {
        async close(status) {
          await status?.recorder.stop();
          return undefined;
        },
      },
    ),
    traffic: component(
      [
        ...["listener", "gateway", "responses", "providers", "uploads", "storage", "journal", "manage", "accounts"],
        ...["readiness", "metrics", "secrets", "nodes", "peerLinks", "captures", "transport", "endpointSync"],
        ...["placement", "nodeRegistrations", "directory", "coordination", "status", "batches"],
      ] as const,
      (deps) => {
        openRoutes(input, deps);
        return deps;
      },
      {
        // Only the first process listens while it starts: others would take connections before they can serve them.
        ready: async ({ listener, placement }) => {
          if (!placement.isFirst) await listen(listener.edge, config, listener.origin);
        },
        // Load balancers see /readyz fail before the port is closed.
        async drain({ listener }, { idleConnections }) {
          const { GATEWAY_DRAIN_DELAY_MS: delayMs } = config;
          if (delayMs > 0 && idleConnections === "close") await listener.edge.listener.announceShutdown(delayMs);
        },
        close: abortTraffic,
      },
    ),
    firstStart: component(
      ["placement", "traffic", "storage", "tenancy", "coordination", "accounts"],
      ({ placement, storage: { store }, tenancy, coordination: { fleet }, accounts }) =>
        placement.isFirst ? runFirstStart({ store, tenancy, fleet, accounts }) : {},
    ),
    // Depends on the traffic, so that it stops before the traffic drains.
    backgroundTasks: component(
      [
        ...["traffic", "firstStart", "state", "captures", "responses", "storage", "money", "accounts", "coordination"],
        ...["alerts", "rateUpdater", "prober", "logExport", "log", "responseCache", "batches"],
      ] as const,
      ({ state, captures: { captures }, responses, storage, money, accounts, coordination, log, ...others }) => {
        const { store, rotation } = storage;
        const { fleet } = coordination;
        const retention = createLogRetention(config, store, log);
        const statistics = createStoreStatistics(store, retention, log);
        const { alerts, rateUpdater, prober, logExport, responseCache, batches } = others;
        const shared = { responses, rotation, retention, statistics, money, accounts, responseCache, batches };
        const sweeper = startSweeper(config, { state, captures, fleet, ...shared });
        void batches.runner?.start();
        const tasks = [sweeper, alerts, rateUpdater, prober.prober, logExport];
        return {
          async stop() {
            await Promise.all(tasks.map((task) => task.stop()));
          },
        };
      },
      { drain: (tasks) => tasks.stop() },
    ),
    // Last, because the probes run while the other components start.
    sandboxProofs: component(["prober", "backgroundTasks"], async ({ prober: { sandboxProven } }) => {
      await sandboxProven;
      return undefined;
    }),
  };
}

/** From here on requests are served instead of answered with 503. */
function openRoutes({ config, version, worker }: GatewayInput, deps: TrafficDeps): void {
  const { listener, gateway, responses, providers, uploads, storage, journal, manage, accounts } = deps;
  const { readiness, metrics, nodes, directory, coordination } = deps;
  const { edge, origin, operatorTokens } = listener;
  const waitForIngest = journal.ingestBarrier.soon;
  const { personOf } = accounts;
  const managerAuth = { operatorTokens, tokens: directory.tokens, publicUrl: config.GATEWAY_PUBLIC_URL, personOf };
  const callers = { directory, fleet: coordination.fleet, managerAuth };
  edge.open({
    nodes,
    secretsOf: gateway.secretsOf,
    json: responses.json,
    personOf,
    handlers: compressResponses(ROUTES, {
      ...surfaceHandlers(gateway, responses, { proofs: providers.proofs, uploads }, enabledSurfaces(config), callers),
      ...batchRoutes(deps.batches, config.GATEWAY_PUBLIC_URL),
      ...requestHandlers({ log: storage.store.log, timers: systemTimers, waitForIngest }),
      ...managementHandlers(manage, accounts),
      ...generatedDocumentHandlers({ version, serverUrl: config.GATEWAY_PUBLIC_URL ?? origin }),
      ...publicStatusHandlers(deps.status?.report),
      ...probeHandlers({ edge, readiness, metrics, worker, operatorTokens }),
    }),
  });
}

/** Ends requests that outlived the drain: streams get an error event before their connections are closed. */
async function abortTraffic({ listener, gateway, responses, captures, transport }: TrafficDeps): Promise<undefined> {
  // An unfinished job is resumed by the next process.
  responses.jobs.abandon();
  await transport.close();
  await listener.edge.listener.closeAll();
  await responses.jobs.settled();
  await gateway.tokenCounter.close();
  await captures.captures.flushed();
  return undefined;
}

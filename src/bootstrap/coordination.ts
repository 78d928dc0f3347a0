import type { Check, OwnKeyManagement } from "../app/manage/deps.ts";
import { recentSpend } from "../app/manage/money/spend-history.ts";
import type { Captures } from "../app/pipeline/content-captures.ts";
import type { Prober } from "../app/prober/prober.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { AlertMonitor } from "../domain/alerts/alert-monitor.ts";
import { type MarginRegistry, parseMargin } from "../domain/billing/margin.ts";
import type { CatalogueSnapshot } from "../domain/catalogue/catalogue.ts";
import type { RateRegistry } from "../domain/catalogue/exchange-rates.ts";
import type { CoordinationStore } from "../domain/fleet/coordination-store.ts";
import type { CacheReloader, Fleet } from "../domain/fleet/fleet.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { ClusteredFleet } from "../io/fleet/clustered-fleet.ts";
import { EndpointStateSync, type EndpointStateSyncDeps } from "../io/fleet/endpoint-state-sync.ts";
import { createIngestBarrier } from "../io/fleet/ingest-barrier.ts";
import { singleInstanceFleet } from "../io/fleet/single-instance-fleet.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import { memoryState } from "../io/state/memory-state.ts";
import { isAuthFailure, isCertificateFailure } from "../io/state/redis/redis-errors.ts";
import type { RedisState } from "../io/state/redis/redis-state.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { Nodes } from "../io/tunnel/nodes.ts";
import type { WorkerContext } from "../io/workers/worker-context.ts";
import type { ProcessHome, ProcessPlacement } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import { holdMaxMs } from "./bounds.ts";
import { reloadNodes } from "./nodes.ts";
import { fillState } from "./store.ts";

/** What this instance has in common with others, or has for itself where there are none. */
export type Sharing = {
  readonly state: SharedState;
  readonly fleet: Fleet;
  /** Undefined where there is nobody to share it with. */
  readonly board: CoordinationStore | undefined;
  readonly standing: "alone" | RedisState["status"];
  /** Which filling of the wallets from SQL is in force; undefined where they are filled once. */
  readonly filling?: string | undefined;
  /** Before anything is loaded from SQL. */
  begin(store: Store): Promise<void>;
  /** Where the journal moves records to: into SQL by way of `inner`, and what others must know of them. */
  readonly sink: (inner: RecordSink, store: Store) => RecordSink;
  /** Resolves when the wallets are open; tenants are loaded and the journal is replayed by then. */
  open(store: Store, directory: Directory, books: IngestPipeline): Promise<void>;
  /** As `SharedRedis.endEarlier`; undefined where what is shared ends with the process, or who keeps it sees to that. */
  endEarlier?: RedisState["releaseEarlierIncarnations"];
  /** Everything is loaded: what others change from here on is loaded anew. */
  follow(reload: CacheReloader): Promise<void>;
  /** How what was finished anywhere before gets into SQL. */
  caughtUp(books: IngestPipeline): CaughtUp;
  /** Others lead and work on; nothing of this instance's is asked for any more. As `SharedRedis.close`. */
  close(): Promise<"done" | "left">;
};

export type CaughtUp = {
  /** Rejects where an instance does not say so in time. */
  all(): Promise<void>;
  /** For who only looks: of other instances what they manage in time. */
  soon(): Promise<void>;
};

type SharingParts = {
  readonly place: Pick<ProcessPlacement, "instanceId" | "left">;
  readonly ids: IdGenerator;
  readonly log: Logger;
  /** What a worker is given by the process that started it. */
  readonly joined: WorkerContext | undefined;
};

/** Begins every name in Redis. */
const PREFIX = "gateway:";

export function openSharing(config: Config, { joined, ...parts }: SharingParts): Sharing | Promise<Sharing> {
  const { REDIS_URL: url } = config;
  if (url !== null) return onRedis(config, url, parts);
  return joined === undefined ? alone(config, parts) : besidePrimary(joined, parts);
}

type InstanceParts = Omit<SharingParts, "joined">;

function alone(config: Config, { place }: InstanceParts): Sharing {
  const state = memoryState(systemClock, { keyUsesMax: config.GATEWAY_IDEMPOTENCY_KEYS_MAX });
  return {
    state,
    fleet: singleInstanceFleet(place.instanceId),
    board: undefined,
    standing: "alone",
    begin: async () => undefined,
    sink: (inner) => inner,
    open: (store, directory) => fillState(config, store, directory, state),
    follow: async () => undefined,
    caughtUp: (books) => ({ all: () => books.flush(), soon: () => books.flush() }),
    close: async () => "done",
  };
}

/** What is shared is in the memory of the process that started this one, which has filled it. */
function besidePrimary({ state, board: coordination }: WorkerContext, parts: InstanceParts): Sharing {
  const { fleet, ...among } = amongOthers({ state, coordination }, parts);
  return {
    ...among,
    state,
    fleet,
    board: coordination,
    standing: "open",
    sink: (store) => store,
    open: async () => undefined,
  };
}

async function onRedis(config: Config, url: string, parts: InstanceParts): Promise<Sharing> {
  const redis = await openRedis(config, url, parts);
  const { state, coordination } = redis;
  const { fleet, ...among } = amongOthers(redis, parts);
  return {
    ...among,
    state,
    fleet,
    board: coordination,
    get standing() {
      return redis.status;
    },
    get filling() {
      return redis.walletGeneration;
    },
    sink: (inner, store) => redis.sink(inner, store.ledger.chargedRequestIds),
    open: (store, directory, books) =>
      redis.openWallets({
        instanceIds: () => fleet.knownInstanceIds(),
        flushJournal: () => books.flush(),
        balances: () => store.ledger.wallets(),
        dailySpends: () => recentSpend(store.rollups, directory, systemClock.nowMs()),
        uses: () => usesIn(store, config.GATEWAY_IDEMPOTENCY_KEYS_MAX),
        get discoveryMs() {
          return fleet.discoveryMs;
        },
      }),
    endEarlier: redis.releaseEarlierIncarnations,
    async close() {
      await among.close();
      return redis.close();
    },
  };
}

type Common = Pick<RedisState, "state" | "coordination"> & Partial<Pick<RedisState, "walletGeneration">>;

/** One of several, wherever they share things. */
function amongOthers(shared: Common, { place, ids, log }: InstanceParts) {
  const { state, coordination } = shared;
  const fleet = new ClusteredFleet({
    id: place.instanceId,
    retiredInstanceIds: idsOf(place.orphans),
    store: coordination,
    bumpVersion: (workspaceId) => state.bumpVersion(workspaceId),
    walletGeneration: () => shared.walletGeneration,
    clock: systemClock,
    timers: systemTimers,
    ids,
    warn: (detail, message) => log.warn(detail, message),
  });
  let quiet: () => void = () => undefined;
  return {
    fleet,
    begin: (store: Store) => fleet.start(store.changes),
    follow: (reload: CacheReloader) => fleet.follow(reload),
    caughtUp(books: IngestPipeline): CaughtUp {
      const flushing = createIngestBarrier({
        fleet,
        store: coordination,
        ids,
        timers: systemTimers,
        flush: () => books.flush(),
      });
      quiet = flushing.stop;
      return flushing;
    },
    async close() {
      quiet();
      await fleet.stop();
      return "done" as const;
    },
  };
}

const idsOf = (homes: readonly ProcessHome[]) => homes.map(({ instanceId }) => instanceId);

async function openRedis(config: Config, url: string, { place, log }: InstanceParts): Promise<RedisState> {
  try {
    // Loaded only where it is used: a gateway that is alone carries no driver for it.
    const { openRedisState } = await import("../io/state/redis/open-redis-state.ts");
    return await openRedisState({
      url,
      ca: config.REDIS_CA ?? undefined,
      prefix: PREFIX,
      instanceId: place.instanceId,
      retiredInstanceIds: idsOf(place.orphans),
      timeoutMs: config.GATEWAY_REDIS_TIMEOUT_MS,
      holdMaxMs: holdMaxMs(config),
      clock: systemClock,
      timers: systemTimers,
      newToken: () => randomToken(12),
      log,
    });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    const next = isAuthFailure(why)
      ? "write its user and password, redis://user:password@host:6379/0"
      : isCertificateFailure(why)
        ? "name the file with its authority in REDIS_CA_FILE, and write the host as it is in its certificate"
        : "start Redis there, or write the address of another";
    throw new ConfigError([`REDIS_URL: ${shownRedis(url)} cannot be used (${why}); ${next}`]);
  }
}

/** Without what is secret in it. */
function shownRedis(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

async function usesIn(store: Store, keysMax: number) {
  const newest = await store.idempotency.newest(systemClock.nowMs(), keysMax + 1);
  return { uses: newest.slice(0, keysMax).reverse(), areAll: newest.length <= keysMax };
}

/** Everything that is in SQL and in the memory of this process as well. */
export type Copies = {
  readonly store: Store;
  readonly directory: Directory;
  readonly ownKeys: Pick<OwnKeyManagement, "reload">;
  readonly nodes: Nodes;
  readonly watch: AlertMonitor;
  readonly captures: Captures;
  readonly margins: MarginRegistry;
  readonly rateBook: RateRegistry;
  readonly prober: Prober;
  /** The master keys, where other processes have them from the same file. */
  reloadKeys(): Promise<void>;
};

/** Loads again what others have changed. */
export function reloading(copies: Copies): CacheReloader {
  const { store, directory, ownKeys, rateBook, prober, reloadKeys } = copies;
  const reloadDeployment = async () => {
    await reloadKeys();
    await ownKeys.reload(null);
    rateBook.apply(await store.rates.latest());
    await prober.loadNew();
  };
  const workspace = (workspaceId: string) => reloadWorkspace(copies, workspaceId);
  return {
    reloadWorkspace: workspace,
    reloadDeployment,
    async reloadAll() {
      await reloadDeployment();
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
  margins.set(workspaceId, margin === undefined ? null : (parseMargin(margin.share) ?? null));
  if (rules === undefined) watch.removeRules(workspaceId);
  else watch.putRules(rules);
}

type Endpoints = Pick<EndpointStateSyncDeps, "breakers" | "health" | "learned"> & {
  readonly snapshot: () => CatalogueSnapshot;
};

/** What instances find out of endpoints counts for all of them; undefined where there is only one. */
export async function shareEndpoints(
  { board: store, fleet }: Sharing,
  { breakers, health, learned, snapshot }: Endpoints,
) {
  if (store === undefined) return undefined;
  const shared = new EndpointStateSync({
    ...{ fleet, store, breakers, health, learned, clock: systemClock, timers: systemTimers },
    hasEndpoint: (endpointId) => snapshot().endpoints.has(endpointId),
  });
  await shared.start();
  return shared;
}

/** What `gateway doctor` says of the others. */
export function fleetChecks(config: Config, sharing: Sharing): Check[] {
  const { REDIS_URL: url } = config;
  if (url === null) return [];
  return [
    {
      name: "redis",
      run: async () => {
        const { standing } = sharing;
        return { ok: standing === "open", detail: `${shownRedis(url)}: ${STANDINGS[standing]}` };
      },
    },
    {
      name: "instances",
      run: async () => {
        const { fleet } = sharing;
        const others = (await fleet.instanceIds()).filter((id) => id !== fleet.id);
        const beside = others.length === 0 ? "no other is alive" : `others: ${others.slice(0, 20).join(", ")}`;
        return { ok: true, detail: `this is ${fleet.id}${fleet.isLeader ? ", which leads" : ""}; ${beside}` };
      },
    },
  ];
}

const STANDINGS: Readonly<Record<Sharing["standing"], string>> = {
  alone: "it is not used",
  open: "it answers, and the wallets are open",
  opening: "the wallets are being filled from the store; paid work is refused until they are open",
  away: "it does not answer; paid work is refused until it does",
};

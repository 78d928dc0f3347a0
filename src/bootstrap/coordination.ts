import type { Check } from "../app/manage/deps.ts";
import { recentSpend } from "../app/manage/money/spend-history.ts";
import type { SharedState } from "../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../domain/fleet/coordination-store.ts";
import type { CacheReloader, Fleet } from "../domain/fleet/fleet.ts";
import type { RecordSink } from "../domain/record/record-batch.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import { ClusteredFleet } from "../io/fleet/clustered-fleet.ts";
import { createIngestBarrier } from "../io/fleet/ingest-barrier.ts";
import { singleInstanceFleet } from "../io/fleet/single-instance-fleet.ts";
import type { IngestPipeline } from "../io/journal/ingest-pipeline.ts";
import { memoryState } from "../io/state/memory-state.ts";
import { isAuthFailure, isCertificateFailure, UnsupportedRedis } from "../io/state/redis/redis-errors.ts";
import type { RedisState } from "../io/state/redis/redis-state.ts";
import type { Store } from "../io/store/sql/store.ts";
import type { Logger } from "../io/telemetry/logger.ts";
import type { WorkerContext } from "../io/workers/worker-context.ts";
import type { ProcessHome, ProcessPlacement } from "../io/workers/worker-folders.ts";
import { systemClock } from "../kit/clock.ts";
import type { IdGenerator } from "../kit/id-generator.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import { type Config, ConfigError } from "../settings/config.ts";
import type { CloseResult } from "./components.ts";
import { holdMaxMs } from "./overload-protection.ts";
import { fillState } from "./store.ts";

/** State and coordination among the instances of this gateway: in this process, in its primary, or in Redis. */
export type Coordination = {
  readonly state: SharedState;
  readonly fleet: Fleet;
  /** Undefined for a single instance. */
  readonly store: CoordinationStore | undefined;
  readonly status: "single" | RedisState["status"];
  /** Generation of the wallet balances; undefined where they are loaded once. */
  readonly walletGeneration?: string | undefined;
  /** Joins the fleet; must precede every load from SQL, so that no later change is missed. */
  join(store: Store): Promise<void>;
  /** Wraps the sink of the journal, so that ingested charges also reach the shared state. */
  readonly ingestSink: (inner: RecordSink, store: Store) => RecordSink;
  /** Fills the wallets; tenants must be loaded and the journal replayed before. */
  openWallets(store: Store, directory: Directory, journal: IngestPipeline): Promise<void>;
  /** Undefined where the shared state ends with this process or its primary. */
  readonly releaseEarlierIncarnations?: RedisState["releaseEarlierIncarnations"];
  /** Reloads what other instances change from now on. */
  follow(reloader: CacheReloader): Promise<void>;
  createIngestBarrier(journal: IngestPipeline): FleetIngestBarrier;
  /** Leaves the fleet and closes the connection. */
  close(): Promise<CloseResult>;
};

/** Waits until requests that finished before, on any instance, are in SQL. */
export type FleetIngestBarrier = {
  /** Rejects when an instance does not respond in time. */
  all(): Promise<void>;
  /** Best effort, for reads: does not fail when another instance is slow. */
  soon(): Promise<void>;
  stop(): void;
};

type CoordinationDeps = {
  readonly placement: Pick<ProcessPlacement, "instanceId" | "orphans">;
  readonly ids: IdGenerator;
  readonly log: Logger;
};

const REDIS_KEY_PREFIX = "gateway:";
const TOKEN_BYTES = 12;

export function openCoordination(
  config: Config,
  worker: WorkerContext | undefined,
  deps: CoordinationDeps,
): Coordination | Promise<Coordination> {
  const { REDIS_URL: url } = config;
  if (url !== null) return redisCoordination(config, url, deps);
  return worker === undefined ? singleInstanceCoordination(config, deps) : workerCoordination(worker, deps);
}

function singleInstanceCoordination(config: Config, { placement }: CoordinationDeps): Coordination {
  const state = memoryState(systemClock, { keyUsesMax: config.GATEWAY_IDEMPOTENCY_KEYS_MAX });
  return {
    state,
    fleet: singleInstanceFleet(placement.instanceId),
    store: undefined,
    status: "single",
    join: async () => undefined,
    ingestSink: (inner) => inner,
    openWallets: (store, directory) => fillState(config, store, directory, state),
    follow: async () => undefined,
    createIngestBarrier: (journal) => ({
      all: () => journal.flush(),
      soon: () => journal.flush(),
      stop: () => undefined,
    }),
    close: async () => "clean",
  };
}

/** The primary process keeps the state and has filled the wallets. */
function workerCoordination({ state, coordination: store }: WorkerContext, deps: CoordinationDeps): Coordination {
  const fleet = createFleet({ state, coordination: store }, deps);
  return {
    ...fleetOperations(fleet, store, deps),
    state,
    store,
    status: "open",
    ingestSink: (inner) => inner,
    openWallets: async () => undefined,
    async close() {
      await fleet.stop();
      return "clean";
    },
  };
}

async function redisCoordination(config: Config, url: string, deps: CoordinationDeps): Promise<Coordination> {
  const redis = await openRedis(config, url, deps);
  const { state, coordination: store } = redis;
  const fleet = createFleet(redis, deps);
  return {
    ...fleetOperations(fleet, store, deps),
    state,
    store,
    get status() {
      return redis.status;
    },
    get walletGeneration() {
      return redis.walletGeneration;
    },
    ingestSink: (inner, sql) => redis.sink(inner, sql.ledger.chargedRequestIds),
    openWallets: (sql, directory, journal) =>
      redis.openWallets({
        instanceIds: () => fleet.knownInstanceIds(),
        flushJournal: () => journal.flush(),
        balances: () => sql.ledger.wallets(),
        dailySpends: () => recentSpend(sql.rollups, directory, systemClock.nowMs()),
        chargedKeyUses: () => newestKeyUses(sql, config.GATEWAY_IDEMPOTENCY_KEYS_MAX),
        get discoveryMs() {
          return fleet.discoveryMs;
        },
      }),
    releaseEarlierIncarnations: redis.releaseEarlierIncarnations,
    async close() {
      await fleet.stop();
      return (await redis.close()) === "left" ? "unflushed" : "clean";
    },
  };
}

type SharedBackend = Pick<RedisState, "state" | "coordination"> & Partial<Pick<RedisState, "walletGeneration">>;

function createFleet(shared: SharedBackend, { placement, ids, log }: CoordinationDeps): ClusteredFleet {
  return new ClusteredFleet({
    id: placement.instanceId,
    retiredInstanceIds: instanceIdsOf(placement.orphans),
    store: shared.coordination,
    bumpVersion: (workspaceId) => shared.state.bumpVersion(workspaceId),
    walletGeneration: () => shared.walletGeneration,
    clock: systemClock,
    timers: systemTimers,
    ids,
    warn: (detail, message) => log.warn(detail, message),
  });
}

function fleetOperations(
  fleet: ClusteredFleet,
  store: CoordinationStore,
  { ids }: CoordinationDeps,
): Pick<Coordination, "fleet" | "join" | "follow" | "createIngestBarrier"> {
  return {
    fleet,
    join: (sql) => fleet.start(sql.changes),
    follow: (reloader) => fleet.follow(reloader),
    createIngestBarrier: (journal) =>
      createIngestBarrier({ fleet, store, ids, timers: systemTimers, flush: () => journal.flush() }),
  };
}

const instanceIdsOf = (homes: readonly ProcessHome[]) => homes.map(({ instanceId }) => instanceId);

async function openRedis(config: Config, url: string, { placement, log }: CoordinationDeps): Promise<RedisState> {
  try {
    // Loaded on demand: a gateway without Redis does not load its driver.
    const { openRedisState } = await import("../io/state/redis/open-redis-state.ts");
    return await openRedisState({
      url,
      sentinels: config.REDIS_SENTINELS,
      ca: config.REDIS_CA ?? undefined,
      prefix: REDIS_KEY_PREFIX,
      instanceId: placement.instanceId,
      retiredInstanceIds: instanceIdsOf(placement.orphans),
      timeoutMs: config.GATEWAY_REDIS_TIMEOUT_MS,
      holdMaxMs: holdMaxMs(config),
      clock: systemClock,
      timers: systemTimers,
      newToken: () => randomToken(TOKEN_BYTES),
      log,
    });
  } catch (error) {
    const cause = error instanceof Error ? error.message : String(error);
    const nextStep =
      error instanceof UnsupportedRedis
        ? error.fix
        : isAuthFailure(cause)
          ? "add the user and password: redis://user:password@host:6379/0"
          : isCertificateFailure(cause)
            ? "set REDIS_CA_FILE to the file with its CA, and use the host name of its certificate"
            : "start Redis there, or use the URL of another server";
    throw new ConfigError([`REDIS_URL: ${withoutCredentials(url)} cannot be used (${cause}); ${nextStep}`]);
  }
}

function withoutCredentials(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `${protocol}//${host}${pathname}`;
}

async function newestKeyUses(store: Store, keysMax: number) {
  const newest = await store.idempotency.newest(systemClock.nowMs(), keysMax + 1);
  return { uses: newest.slice(0, keysMax).reverse(), isComplete: newest.length <= keysMax };
}

/** `gateway doctor`: Redis and the other instances. */
export function coordinationChecks(config: Config, coordination: Coordination): Check[] {
  const { REDIS_URL: url } = config;
  if (url === null) return [];
  return [
    {
      name: "redis",
      run: async () => {
        const { status } = coordination;
        return { ok: status === "open", detail: `${withoutCredentials(url)}: ${STATUS_TEXT[status]}` };
      },
    },
    {
      name: "instances",
      run: async () => {
        const { fleet } = coordination;
        const others = (await fleet.instanceIds()).filter((id) => id !== fleet.id);
        const otherText =
          others.length === 0 ? "no other instance is alive" : `other instances: ${others.slice(0, 20).join(", ")}`;
        return {
          ok: true,
          detail: `this instance is ${fleet.id}${fleet.isLeader ? ", the leader" : ""}; ${otherText}`,
        };
      },
    },
  ];
}

const STATUS_TEXT: Readonly<Record<Coordination["status"], string>> = {
  single: "not used",
  open: "connected, and the wallets are open",
  opening: "the wallets are being rebuilt from the store; paid requests are refused meanwhile",
  away: "Redis does not respond; paid requests are refused meanwhile",
};

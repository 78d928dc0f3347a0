import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { type HttpResponse, rejectUpload } from "../../src/app/exchange.ts";
import type { Check, ManageDeps, OwnKeyManagement } from "../../src/app/manage/deps.ts";
import { manageHandlers } from "../../src/app/manage/handlers.ts";
import { ExchangeRateUpdater } from "../../src/app/manage/money/exchange-rate-updater.ts";
import { LedgerPoster } from "../../src/app/manage/money/ledger-poster.ts";
import { MutationLock } from "../../src/app/manage/mutation-lock.ts";
import { MasterKeyRotation } from "../../src/app/manage/operation/master-key-rotation.ts";
import { ContentCaptures } from "../../src/app/pipeline/content-captures.ts";
import { decodeChat } from "../../src/app/pipeline/decode.ts";
import { openCustomClasses } from "../../src/bootstrap/custom-classes.ts";
import { Fault } from "../../src/contract/faults.ts";
import { MANAGE_ROUTES } from "../../src/contract/routes/manage.ts";
import { ConcurrencyLimiter } from "../../src/domain/admission/overload-protection.ts";
import type { SharedState } from "../../src/domain/admission/shared-state.ts";
import { MarginRegistry } from "../../src/domain/billing/charge.ts";
import { NO_MARGIN } from "../../src/domain/billing/margin.ts";
import type { CatalogueSnapshot, ProviderConnections } from "../../src/domain/catalogue/catalogue.ts";
import { RateRegistry } from "../../src/domain/catalogue/exchange-rates.ts";
import { loadCatalogue } from "../../src/domain/catalogue/load.ts";
import { ALL_CLOSED } from "../../src/domain/routing/circuit-state.ts";
import { CircuitBreakers, LatencyTracker, TrafficStats } from "../../src/domain/routing/endpoint-health.ts";
import { CIRCUIT_BREAKER_RULES } from "../../src/domain/routing/failing-circuits.ts";
import { Reachability } from "../../src/domain/routing/reachability.ts";
import { SessionAffinity } from "../../src/domain/routing/session-affinity.ts";
import { Directory } from "../../src/domain/tenancy/directory.ts";
import { catalogueFiles } from "../../src/io/catalogue-files.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { memoryState } from "../../src/io/state/memory-state.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { tokenCounter } from "../../src/io/tokens/token-counter.ts";
import { NodeRegistry } from "../../src/io/tunnel/node-registry.ts";
import { OwnKeys } from "../../src/io/upstream/own-keys.ts";
import { createPlatformConnections } from "../../src/io/upstream/provider-connections.ts";
import { openVault } from "../../src/io/vault.ts";
import type { Clock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { systemTimers } from "../../src/kit/timers.ts";
import { quietAlerts } from "./alerts.ts";
import { ALL_PROVEN } from "./proofs.ts";
import { layTables } from "./tables.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const CATALOGUE = [path.join(ROOT, "catalogue"), path.join(ROOT, "src/sandbox/catalogue")];

export type CallInput = { params?: Record<string, string>; query?: string; body?: unknown };

function reachOf(snapshot: CatalogueSnapshot, connections: ProviderConnections): Reachability {
  const speaks = () => true;
  return new Reachability({ snapshot }, connections, speaks, ALL_PROVEN);
}

/** No workspace has an own provider key. */
function noOwnKeys(snapshot: CatalogueSnapshot, reach: Reachability, clock: Clock): OwnKeyManagement {
  const registry = new OwnKeys({
    catalogue: { snapshot },
    platform: () => ({ addresses: () => undefined, reach, proofs: ALL_PROVEN }),
    transport: { release: () => undefined },
    clock,
    breakerRules: CIRCUIT_BREAKER_RULES,
  });
  return {
    registry,
    parse: () => ({ problem: "no key is read here" }),
    seal: async () => new Uint8Array(),
    reload: async () => undefined,
    probe: async () => ({ result: "unclear", status: null, detail: "no provider is called here" }),
  };
}

/** No node is connected. */
function noNodes(snapshot: CatalogueSnapshot, clock: Clock): ManageDeps["nodes"] {
  const rules = {
    clock,
    timers: systemTimers,
    pingEveryMs: 60_000,
    pingTimeoutMs: 60_000,
    announceEveryMs: 60_000,
    calls: { firstByteTimeoutMs: 60_000, idleTimeoutMs: 60_000 },
    breakers: CIRCUIT_BREAKER_RULES,
    circuit: { initialMs: 60_000, maxMs: 60_000 },
    seenEveryMs: 60_000,
  };
  return {
    registry: new NodeRegistry(rules, () => snapshot, { onSeen() {}, onCircuitOpened() {} }),
    max: 100,
    instance: "ins_1",
    agentVersion: "test",
  };
}

const CUSTOM_CLASS_LIMITS = {
  GATEWAY_DATA_CLASSES_MAX: 1,
  GATEWAY_DATA_CLASS_TERMS_MAX: 1,
  GATEWAY_DATA_CLASS_PATTERNS_MAX: 0,
  GATEWAY_DETECTOR_PRIVATE: "off" as const,
};

async function sealedParts(store: Store, clock: Clock) {
  const keys = new MasterKeys(Buffer.alloc(32, 3));
  const vault = openVault(keys, store.dataKeys);
  const captureStore = store.captures(vault);
  const limits = { itemMaxBytes: 1024, windowMaxBytes: 65536 };
  const parts = {
    keys,
    file: null,
    retiringKeyId: undefined,
    store,
    vault,
    ids: createIdGenerator(clock.nowMs),
    warn: () => {},
  };
  const rotation = new MasterKeyRotation({ ...parts, clock, timers: systemTimers });
  const captures = new ContentCaptures({ store: captureStore, clock, limits, mayKeep: () => true, warn: () => {} });
  const playgroundSecret = async () => "playground-secret";
  return {
    captureStore,
    captures,
    playgroundSecret,
    masterKey: { rotation, timers: systemTimers },
    timers: systemTimers,
    customClasses: await openCustomClasses(CUSTOM_CLASS_LIMITS, store, { vault, metrics: { recordDetector() {} } }),
  };
}

/** No payment provider is configured. */
function moneyParts(store: Store, state: SharedState, clock: Clock) {
  const payments = {
    adapters: new Map(),
    checkoutUrls: new Map(),
    contact: null,
    onRejected: () => undefined,
    onPromotionGranted: async () => {},
  };
  return { ledgerPoster: new LedgerPoster({ state, ledger: store.ledger, clock }), payments };
}

/** Exchange rates that are only set manually. */
function ratesOf(store: Store, snapshot: CatalogueSnapshot, clock: Clock): ExchangeRateUpdater {
  const tenancy = { store, clock, ids: createIdGenerator(clock.nowMs) };
  const parts = {
    tenancy,
    store: store.rates,
    rateBook: new RateRegistry(snapshot),
    source: undefined,
    everyMs: 1,
    staleDays: 14,
    isLeader: () => true,
    mutationLock: new MutationLock(),
  };
  return new ExchangeRateUpdater({ ...parts, timers: systemTimers, warn: () => {} });
}

type PlanningParts = {
  readonly snapshot: CatalogueSnapshot;
  readonly connections: ProviderConnections;
  readonly reach: Reachability;
  readonly ownKeys: OwnKeyManagement;
  readonly customClasses: ManageDeps["customClasses"];
  readonly directory: Directory;
  readonly clock: Clock;
};

/** Planning state without a connected provider. */
function planningOf({ snapshot, connections, reach, ownKeys, customClasses, directory, clock }: PlanningParts) {
  return {
    clock,
    catalogue: { snapshot },
    connections,
    reachability: reach,
    health: new LatencyTracker(),
    trafficStats: new TrafficStats(),
    rejectedClaims: new Map(),
    sessions: new SessionAffinity(),
    breakers: ALL_CLOSED,
    ownKeys: ownKeys.registry,
    customClasses: customClasses.registry,
    externalDetectors: customClasses.externalDetectors,
    standInKey: async () => Buffer.from("stand-ins"),
    nodes: { overlayFor: () => undefined, unavailableModel: () => undefined },
    margins: new MarginRegistry(NO_MARGIN),
    policyOf: (workspaceId: string, keyId: string | null) => directory.policyOf(workspaceId, keyId),
    routerOf: (workspaceId: string, slug: string) => directory.router(workspaceId, slug),
    limits: { attemptsMax: 5 },
    tokenCounter: tokenCounter(),
  };
}

/** No provider is connected. */
function noProber(store: Store): ManageDeps["prober"] {
  return { all: () => [], prove: async () => [], history: store.proofs.history, maxAgeMs: 1 };
}

const NO_RESPONSES: ManageDeps["responses"] = {
  list: async () => ({ rows: [], next: null }),
  usage: () => ({ usedBytes: 0, maxBytes: 1 }),
  stop: async () => {},
  stopAll: async () => {},
};

const NO_CACHE: ManageDeps["responseCache"] = {
  usage: async () => ({ replies: 0, bytes: 0 }),
  maxBytes: 1,
  ttlMaxSeconds: 0,
  drop: async () => {},
  purge: async () => 0,
};

const NOTHING_KEPT = { responses: NO_RESPONSES, responseCache: NO_CACHE };

/** The management use cases on a real store in their own folder, with a clock that tests set. */
export async function openManageFixture(checks: readonly Check[] = []) {
  const dataDir = mkdtempSync(path.join(tmpdir(), "gateway-manage-"));
  let nowMs = Date.UTC(2026, 10, 15, 12);
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  await layTables(dataDir);
  const store = await openSqlite(dataDir, clock);
  const directory = new Directory();
  const state = memoryState(clock);
  const loaded = await loadCatalogue(CATALOGUE, nowMs, catalogueFiles);
  if ("problems" in loaded) throw new Error(JSON.stringify(loaded.problems));
  const { snapshot } = loaded;
  const nothing = { apiKeys: new Map(), credentials: new Map(), baseUrls: new Map(), aws: null };
  const connections = createPlatformConnections(nothing, () => snapshot, {});
  const reach = reachOf(snapshot, connections);
  const ownKeys = noOwnKeys(snapshot, reach, clock);
  const sealed = await sealedParts(store, clock);
  const planning = planningOf({ ...sealed, snapshot, connections, reach, ownKeys, directory, clock });
  const handlers = manageHandlers({
    store,
    directory,
    state,
    ...moneyParts(store, state, clock),
    clock,
    ids: createIdGenerator(clock.nowMs),
    snapshot: () => snapshot,
    rates: ratesOf(store, snapshot, clock),
    prober: noProber(store),
    connections,
    planning,
    endpoints: {
      health: planning.health,
      breakers: new CircuitBreakers(clock),
      endpointSlots: new ConcurrencyLimiter(0),
    },
    effectiveSettings: { settings: [], warnings: [], version: "test", startedAtMs: nowMs },
    decoders: { chat: decodeChat },
    ...NOTHING_KEPT,
    ...sealed,
    alerts: quietAlerts({ store, directory, state, ownKeys: ownKeys.registry, clock }),
    usersMayCreateWorkspaces: false,
    responseRetention: "30d",
    ownKeys,
    nodes: noNodes(snapshot, clock),
    checks,
    mutationLock: new MutationLock(),
    waitForIngest: async () => {},
  });

  const call = async (id: string, input: CallInput = {}): Promise<HttpResponse> => {
    const route = MANAGE_ROUTES.find((one) => one.id === id);
    const handler = handlers[id];
    if (route === undefined || handler?.kind !== "buffered") throw new Error(`no handler ${id}`);
    return handler.handle({
      requestId: "req_test",
      route,
      params: input.params ?? {},
      query: new URLSearchParams(input.query ?? ""),
      headers: {},
      clientAddress: "127.0.0.1",
      receivedAtMs: nowMs,
      startedMs: nowMs,
      principal: undefined,
      actor: { is: "operator" },
      baseHeaders: {},
      body: async () => Buffer.from(input.body === undefined ? "" : JSON.stringify(input.body)),
      upload: rejectUpload,
    });
  };

  return {
    store,
    directory,
    state,
    dataDir,
    snapshot,
    handlers,
    /** The JSON of a response. */
    ask: async (id: string, input: CallInput = {}): Promise<JsonObject> => {
      const { json } = await call(id, input);
      if (!isJsonObject(json)) throw new Error(`${id} answered no object`);
      return json;
    },
    /** The fault a call is refused with. */
    refusal: async (id: string, input: CallInput = {}): Promise<Fault> => {
      const problem: unknown = await call(id, input).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (problem instanceof Fault) return problem;
      throw new Error(`${id} was not refused`);
    },
    wait: (ms: number) => {
      nowMs += ms;
    },
    nowMs: () => nowMs,
    close: async () => {
      await store.close();
      rmSync(dataDir, { recursive: true });
    },
  };
}

export type ManageFixture = Awaited<ReturnType<typeof openManageFixture>>;

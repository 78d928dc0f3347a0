import { CustomClasses } from "../../src/app/pipeline/custom-classes.ts";
import type { GatewayDeps } from "../../src/app/pipeline/gateway-deps.ts";
import { AdmissionQueue, ConcurrencyLimiter, RetryBudget } from "../../src/domain/admission/overload-protection.ts";
import type { SharedState } from "../../src/domain/admission/shared-state.ts";
import { MarginRegistry } from "../../src/domain/billing/charge.ts";
import { NO_MARGIN } from "../../src/domain/billing/margin.ts";
import type { Credential, CurrentCatalogue, ProviderConnections } from "../../src/domain/catalogue/catalogue.ts";
import { vocabularySteps } from "../../src/domain/data-classes/context.ts";
import { CircuitBreakers, LatencyTracker, TrafficStats } from "../../src/domain/routing/endpoint-health.ts";
import { CIRCUIT_BREAKER_RULES } from "../../src/domain/routing/failing-circuits.ts";
import { Reachability } from "../../src/domain/routing/reachability.ts";
import { SessionAffinity } from "../../src/domain/routing/session-affinity.ts";
import { Directory } from "../../src/domain/tenancy/directory.ts";
import { createKeyRecheck } from "../../src/edge/authenticate.ts";
import { memoryState } from "../../src/io/state/memory-state.ts";
import { ResponseGuard } from "../../src/io/upstream/response-guard.ts";
import { hasAdapter } from "../../src/io/upstream/upstream-adapters.ts";
import { DeadlineQueue } from "../../src/kit/deadline-queue.ts";
import { atOnce } from "../../src/kit/in-turns.ts";
import { cancelTimer, type Timers } from "../../src/kit/timers.ts";
import { ALL_PROVEN } from "../support/proofs.ts";
import { copyOf } from "./tenants.ts";
import type { World } from "./world.ts";

/** The first request would build it in turns, which the scheduler of a world does not know. */
atOnce(vocabularySteps());

const KEEP_ALIVE_MS = 1000;
const HOLD_OUTPUT_TOKENS = 200;

export function tokenOf(provider: string): string {
  return `secret-of-${provider}`;
}

/** One incarnation of the gateway: the real components, wired as in main.ts, from what disk and SQL have kept. */
export class Process {
  readonly directory = new Directory();
  readonly state: SharedState;
  readonly queue: AdmissionQueue;
  /** Changes that are in SQL and not yet in force here. */
  readonly changes: (() => void)[] = [];
  readonly gateway: GatewayDeps;
  readonly #world: World;
  #isAlive = true;
  #reach: Reachability;
  #connections: ProviderConnections;

  constructor(world: World) {
    this.#world = world;
    const { scheduler, shape, stored, disk } = world;
    disk.replay();
    world.checks.started();
    world.circuits.forget();
    const all = copyOf(stored);
    world.inForce = all;
    world.revokedAtMs.clear();
    for (const { id, state } of all.keys.values())
      if (state === "revoked") world.revokedAtMs.set(id, scheduler.monotonicMs());
    this.directory.load({
      workspaces: [...all.workspaces.values()],
      members: [],
      keys: [...all.keys.values()],
      routers: [...all.routers.values()],
      tokens: [],
    });
    this.state = watched(memoryState(scheduler), world, () => this.#isAlive);
    for (const id of all.workspaces.keys()) void this.state.credit(id, disk.balanceOf(id));
    this.#connections = connectionsOf(world, () => this.#isAlive);
    this.#reach = new Reachability(currentCatalogue(world), this.#connections, hasAdapter, ALL_PROVEN);
    const timers = this.#timers();
    this.queue = new AdmissionQueue(shape.queue, (ms, then) => {
      const timer = timers.after(ms, then);
      return () => cancelTimer(timer);
    });
    this.gateway = this.#build(timers);
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Power loss: nothing of this incarnation continues. */
  die(): void {
    this.#isAlive = false;
    this.#world.network.cutAll();
    this.#world.disk.crash();
  }

  /** The catalogue or the connections changed. */
  reread(): void {
    this.#connections = connectionsOf(this.#world, () => this.#isAlive);
    this.#reach = new Reachability(currentCatalogue(this.#world), this.#connections, hasAdapter, ALL_PROVEN);
  }

  #timers(): Timers {
    const { scheduler } = this.#world;
    return {
      after: (ms, then) =>
        scheduler.after(ms, () => {
          if (this.#isAlive) then();
        }),
    };
  }

  #build(timers: Timers): GatewayDeps {
    const { scheduler, shape, chance, network, disk, checks } = this.#world;
    const process = this;
    const isAlive = () => this.#isAlive;
    return {
      clock: scheduler,
      timers,
      loopDetection: { mark: "here", everywhere: true },
      deadlines: new DeadlineQueue(scheduler, timers),
      keepAlives: new DeadlineQueue(scheduler, timers),
      catalogue: currentCatalogue(this.#world),
      get connections() {
        return process.#connections;
      },
      get reachability() {
        return process.#reach;
      },
      margins: new MarginRegistry(NO_MARGIN),
      // There are no own keys, and nothing is captured.
      ownKeys: { of: () => undefined },
      nodes: {
        overlayFor: () => undefined,
        entry: () => undefined,
        reportImplausible: () => {},
        unavailableModel: () => undefined,
      },
      captures: { openFor: () => undefined, begin: () => undefined },
      idempotency: {
        ttlMs: 86_400_000,
        find: async () => undefined,
        storedReply: async () => undefined,
        servedCall: async () => undefined,
        sweep: async () => undefined,
      },
      health: new LatencyTracker(),
      trafficStats: new TrafficStats(),
      rejectedClaims: new Map(),
      sessions: new SessionAffinity(),
      breakers: new CircuitBreakers(scheduler, CIRCUIT_BREAKER_RULES),
      queue: this.queue,
      retryBudget: new RetryBudget(),
      endpointSlots: new ConcurrencyLimiter(shape.slotsPerEndpoint),
      random: () => chance.next(),
      state: this.state,
      journal: disk.journal(isAlive),
      transport: network.transport(isAlive),
      secretsOf: () => [],
      customClasses: new CustomClasses(async () => undefined),
      externalDetectors: { read: async () => undefined },
      standInKey: async () => Buffer.from("stand-ins"),
      // No request counts tokens in a simulated run.
      tokenCounter: {
        count: async () => undefined,
        decode: async () => ({ is: "busy" }),
        close: async () => undefined,
      },
      recheckKey: createKeyRecheck(this.directory, scheduler),
      policyOf: (workspaceId, keyId) => this.directory.policyOf(workspaceId, keyId),
      routerOf: (workspaceId, slug) => this.directory.router(workspaceId, slug),
      spenderOf: (principal) => this.directory.spendScopeOf(principal),
      responses: new ResponseGuard(),
      limits: {
        holdOutputTokens: HOLD_OUTPUT_TOKENS,
        requestTimeoutMs: shape.requestTimeoutMs,
        responseMaxBytes: 64 * 1024,
        frameMaxChars: 16 * 1024,
        binaryFrameMaxBytes: 16 * 1024,
        preambleMaxChars: 16 * 1024,
        keepAliveMs: KEEP_ALIVE_MS,
        attemptsMax: shape.attemptsMax,
        queueWaitMs: shape.queue.waitMs,
      },
      onRequestFinished: (record) => checks.finished(record),
      onNotice: (notice) => this.#world.count(notice.is),
    };
  }
}

function connectionsOf({ connected, shape, scheduler, chance }: World, isAlive: () => boolean): ProviderConnections {
  const isIn = new Set(connected);
  const credentialOf = (provider: string): Credential => {
    if (!shape.minted.includes(provider)) return { kind: "bearer", token: tokenOf(provider) };
    // While it is fetched other events run.
    const token = () =>
      new Promise<string>((resolve, reject) => {
        const fails = !shape.isCalm && chance.is(0.05);
        scheduler.after(chance.between(0, 400), () => {
          if (!isAlive()) return;
          if (fails) reject(new Error("no token today"));
          else resolve(tokenOf(provider));
        });
      });
    return { kind: "minted", project: "p", token };
  };
  return {
    credential: (provider) => (isIn.has(provider) ? credentialOf(provider) : undefined),
    baseUrl: (endpoint) => endpoint.baseUrl ?? undefined,
    hasRealProvider: true,
  };
}

/** The real state, with checks on every hold and its end; in some worlds it responds a little later. */
function watched(state: SharedState, { checks, shape, scheduler, chance }: World, isAlive: () => boolean): SharedState {
  const later = <T>(value: T): T | Promise<T> => {
    if (shape.state === "at_once") return value;
    return new Promise((resolve) => {
      scheduler.after(chance.between(0, 20), () => {
        if (isAlive()) resolve(value);
      });
    });
  };
  return {
    ...state,
    credit(workspaceId, nanos) {
      checks.credited(workspaceId, nanos);
      return state.credit(workspaceId, nanos);
    },
    hold(request) {
      const verdict = state.hold(request);
      if (verdict instanceof Promise) throw new Error("the state in memory answers at once");
      checks.held(request, verdict);
      return later(verdict);
    },
    settle(hold, nanos) {
      checks.settled(hold.requestId, nanos);
      const done = state.settle(hold, nanos);
      if (done instanceof Promise) throw new Error("the state in memory answers at once");
      return later(undefined);
    },
  };
}

function currentCatalogue(world: Pick<World, "catalogue">): CurrentCatalogue {
  return {
    get snapshot() {
      return world.catalogue.snapshot;
    },
  };
}

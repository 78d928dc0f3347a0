import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { notifyObservers } from "../app/pipeline/record.ts";
import { LatencyTracker, TrafficStats } from "../domain/routing/endpoint-health.ts";
import { SessionAffinity } from "../domain/routing/session-affinity.ts";
import { createKeyRecheck } from "../edge/authenticate.ts";
import { tokenCounter } from "../io/tokens/token-counter.ts";
import { systemClock } from "../kit/clock.ts";
import { randomToken } from "../kit/secret.ts";
import { systemTimers } from "../kit/timers.ts";
import type { Config } from "../settings/config.ts";
import type { GatewayComponents, GatewayInput } from "./gateway-components.ts";
import { knownSecrets } from "./listener.ts";
import { pipelineLimits } from "./overload-protection.ts";
import { responseGuard } from "./response-guard.ts";
import { createIdempotencyLookup } from "./store.ts";

type PipelineBootstrapDeps = Pick<
  GatewayComponents,
  | "rates"
  | "providers"
  | "ownKeys"
  | "customClasses"
  | "nodes"
  | "overload"
  | "state"
  | "transport"
  | "captures"
  | "responseCache"
  | "journal"
  | "directory"
  | "margins"
  | "storage"
  | "telemetry"
  | "metrics"
  | "alertMonitor"
  | "operatorEvents"
  | "log"
> &
  Pick<GatewayInput, "onResponseTurn">;

const DEPLOYMENT_MARK_BYTES = 9;

/** Everything that the request path uses. */
export async function createPipelineDeps(config: Config, deps: PipelineBootstrapDeps): Promise<GatewayDeps> {
  const { rates, providers, ownKeys, nodes, overload, state, transport, captures, journal, directory } = deps;
  const { margins, storage, telemetry, metrics, alertMonitor, operatorEvents, log } = deps;
  const { connections, reachability } = providers;
  const { store } = storage;
  const { traceparentFor, recordRequest } = telemetry;
  const observers = [metrics, alertMonitor];
  return {
    clock: systemClock,
    timers: systemTimers,
    catalogue: rates,
    connections,
    reachability,
    health: new LatencyTracker(),
    trafficStats: new TrafficStats(),
    rejectedClaims: new Map(),
    sessions: new SessionAffinity(),
    policyOf: directory.policyOf.bind(directory),
    routerOf: directory.router.bind(directory),
    spenderOf: directory.spendScopeOf.bind(directory),
    ownKeys,
    nodes,
    ...overload,
    state,
    transport,
    captures: captures.captures,
    journal: journal.pipeline.journal,
    secretsOf: knownSecrets(connections, ownKeys),
    standInKey: (workspaceId) => storage.vault.derive(workspaceId, "stand-ins"),
    customClasses: deps.customClasses.registry,
    externalDetectors: deps.customClasses.externalDetectors,
    tokenCounter: tokenCounter(),
    recheckKey: createKeyRecheck(directory, systemClock),
    margins,
    limits: pipelineLimits(config),
    responses: responseGuard(config, deps.onResponseTurn),
    loopDetection: {
      mark: await store.meta.add("hop_mark", randomToken(DEPLOYMENT_MARK_BYTES)),
      everywhere: config.GATEWAY_CATALOGUE_DIR !== null,
    },
    ...(deps.responseCache === undefined ? {} : { responseCache: deps.responseCache }),
    idempotency: createIdempotencyLookup(config, store, journal.ingestBarrier.all, log),
    onSpendLimitReached: alertMonitor.recordLimitRefusal.bind(alertMonitor),
    onRequestFinished: notifyObservers(recordRequest === undefined ? observers : [...observers, { recordRequest }]),
    onNotice: (event) => operatorEvents.record(event),
    ...(traceparentFor === undefined ? {} : { traceparentFor }),
  };
}

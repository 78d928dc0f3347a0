import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import { ALL_CLOSED, type CircuitStateReader } from "../../domain/routing/circuit-state.ts";
import type { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import type { OwnKey, OwnKeyUse } from "../../domain/tenancy/own-key.ts";
import type { NodeOverlay } from "../../io/tunnel/node-overlay.ts";
import { overlayConnections } from "../../io/upstream/own-keys.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./request-trace.ts";

// A workspace's own keys and nodes overlay the platform's resources. Without any, these functions return the platform's
// own objects.

export function snapshotFor({ snapshot, nodes }: ResourceLayers<"snapshot">, workspaceId: string): CatalogueSnapshot {
  return nodes.overlayFor(workspaceId)?.snapshot ?? snapshot();
}

export function reachabilityFor(
  { reachability, ownKeys, nodes }: ResourceLayers<"reachability" | "ownKeys">,
  workspaceId: string,
): ReachabilitySource {
  const base = ownKeys.of(workspaceId)?.reach ?? reachability;
  return nodes.overlayFor(workspaceId)?.reachabilityOver(base) ?? base;
}

export function connectionsFor(
  { connections, ownKeys, nodes }: ResourceLayers<"connections" | "ownKeys">,
  workspaceId: string,
): ProviderConnections {
  const base = overlayConnections(connections, ownKeys.of(workspaceId));
  const own = nodes.overlayFor(workspaceId)?.connections;
  if (own === undefined) return base;
  return {
    credential: (provider) => own.credential(provider) ?? base.credential(provider),
    baseUrl: (endpoint) => own.baseUrl(endpoint) ?? base.baseUrl(endpoint),
    hasRealProvider: true,
  };
}

/** Undefined when the workspace's key or node was removed. */
export function connectionsOfAttempt(
  { connections, ownKeys, nodes }: ResourceLayers<"connections" | "ownKeys">,
  { ownKey, node }: Attempt,
): ProviderConnections | undefined {
  if (node !== undefined) return nodes.overlayFor(node.workspaceId)?.connections;
  return ownKey === undefined ? connections : ownKeys.of(ownKey.workspaceId)?.connections;
}

type OwnKeyDeps = Pick<GatewayDeps, "ownKeys">;

/** The current setting of an own key; of a removed key its last one. */
export function currentKeyUse({ ownKeys }: OwnKeyDeps, { workspaceId, provider, use }: OwnKey): OwnKeyUse {
  return ownKeys.of(workspaceId)?.keys.get(provider)?.key.use ?? use;
}

/** An own key with `use: only` that failed: the platform's endpoints must not be tried after it. */
export function failedExclusiveKey(
  keys: OwnKeyDeps,
  { failedOwnKeys }: Pick<RequestTrace, "failedOwnKeys">,
): OwnKey | undefined {
  return failedOwnKeys.find((own) => currentKeyUse(keys, own) === "only");
}

/** The own key that forbids an attempt with the platform's key. */
export function exclusiveKeyBarring(
  keys: OwnKeyDeps,
  { principal, failedOwnKeys }: Pick<RequestTrace, "principal" | "failedOwnKeys">,
  attempt: Attempt,
): OwnKey | undefined {
  if (isOwnResource(attempt)) return undefined;
  const own = keys.ownKeys.of(principal.workspace.id)?.keys.get(attempt.endpoint.provider)?.key;
  return own?.use === "only" ? own : failedExclusiveKey(keys, { failedOwnKeys });
}

/** The attempt's endpoint in the current catalogue. */
export function currentEndpoint(
  { snapshot, nodes }: ResourceLayers<"snapshot">,
  { endpoint: { id }, node }: Attempt,
): Endpoint | undefined {
  return (node === undefined ? snapshot() : nodes.overlayFor(node.workspaceId)?.snapshot)?.endpoints.get(id);
}

/** Node names are unique per workspace only, so each node keeps its own statistics. */
export function healthWithNodes(
  health: Pick<LatencyTracker, "estimate">,
  nodes: NodeOverlay,
): Pick<LatencyTracker, "estimate"> {
  return { estimate: (endpoint, nowMs) => (nodes.entryFor(endpoint)?.health ?? health).estimate(endpoint, nowMs) };
}

export function breakersWithNodes(breakers: CircuitStateReader, nodes: NodeOverlay): CircuitStateReader {
  // A reader that ignores all circuits ignores those of nodes, too.
  if (breakers === ALL_CLOSED) return breakers;
  return { circuitStateOf: (endpoint) => (nodes.entryFor(endpoint)?.breakers ?? breakers).circuitStateOf(endpoint) };
}

type ResourceLayers<Name extends keyof GatewayDeps> = Pick<GatewayDeps, Name> & {
  readonly nodes: Pick<GatewayDeps["nodes"], "overlayFor">;
};

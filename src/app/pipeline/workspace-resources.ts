import type { CatalogueSnapshot, Endpoint, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import { ALL_CLOSED, type CircuitStateReader } from "../../domain/routing/circuit-state.ts";
import type { LatencyTracker } from "../../domain/routing/latency-tracker.ts";
import type { ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import type { OwnKey, OwnKeyUse } from "../../domain/tenancy/own-key.ts";
import type { NodeOverlay } from "../../io/tunnel/node-overlay.ts";
import { connectionsWith } from "../../io/upstream/own-keys.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./request-trace.ts";

// What a workspace has of its own stands on top of the platform: keys at providers, then nodes. Most have neither, and
// then everything here is the platform's own object.

/** The catalogue as a workspace sees it. */
export function snapshotFor({ snapshot, nodes }: ResourceLayers<"snapshot">, workspaceId: string): CatalogueSnapshot {
  return nodes.overlayFor(workspaceId)?.snapshot ?? snapshot();
}

/** What a workspace can call. */
export function reachabilityFor(
  { reachability, ownKeys, nodes }: ResourceLayers<"reach" | "ownKeys">,
  workspaceId: string,
): ReachabilitySource {
  const base = ownKeys.of(workspaceId)?.reach ?? reachability;
  return nodes.overlayFor(workspaceId)?.reachabilityOver(base) ?? base;
}

/** For asking whether a workspace can call something at all. */
export function connectionsFor(
  { connections, ownKeys, nodes }: ResourceLayers<"connections" | "ownKeys">,
  workspaceId: string,
): ProviderConnections {
  const base = connectionsWith(connections, ownKeys.of(workspaceId));
  const own = nodes.overlayFor(workspaceId)?.connections;
  if (own === undefined) return base;
  return {
    credential: (provider) => own.credential(provider) ?? base.credential(provider),
    baseUrl: (endpoint) => own.baseUrl(endpoint) ?? base.baseUrl(endpoint),
    hasRealProvider: true,
  };
}

/** Whose connections an attempt is made with; undefined when its workspace has no such key or node any more. */
export function connectionsOfAttempt(
  { connections, ownKeys, nodes }: ResourceLayers<"connections" | "ownKeys">,
  { ownKey, node }: Attempt,
): ProviderConnections | undefined {
  if (node !== undefined) return nodes.overlayFor(node.workspaceId)?.connections;
  return ownKey === undefined ? connections : ownKeys.of(ownKey.workspaceId)?.connections;
}

type OwnKeyDeps = Pick<GatewayDeps, "ownKeys">;

/** When an own key is to be used by what its workspace says now; of one that is gone, by what it said last. */
export function currentKeyUse({ ownKeys }: OwnKeyDeps, { workspaceId, provider, use }: OwnKey): OwnKeyUse {
  return ownKeys.of(workspaceId)?.keys.get(provider)?.key.use ?? use;
}

/** The own key that is to be used alone and failed: nothing of the platform's is asked after it. */
export function failedExclusiveKey(
  keys: OwnKeyDeps,
  { failedOwnKeys }: Pick<RequestTrace, "keysOut">,
): OwnKey | undefined {
  return failedOwnKeys.find((own) => currentKeyUse(keys, own) === "only");
}

/** The own key that keeps an attempt with the platform's key from being made now. */
export function exclusiveKeyBarring(
  keys: OwnKeyDeps,
  { principal, failedOwnKeys }: Pick<RequestTrace, "principal" | "keysOut">,
  attempt: Attempt,
): OwnKey | undefined {
  if (isOwnResource(attempt)) return undefined;
  const own = keys.ownKeys.of(principal.workspace.id)?.keys.get(attempt.endpoint.provider)?.key;
  return own?.use === "only" ? own : failedExclusiveKey(keys, { failedOwnKeys });
}

/** The row of an attempt's endpoint as it is now. */
export function currentEndpoint(
  { snapshot, nodes }: ResourceLayers<"snapshot">,
  { endpoint: { id }, node }: Attempt,
): Endpoint | undefined {
  return (node === undefined ? snapshot() : nodes.overlayFor(node.workspaceId)?.snapshot)?.endpoints.get(id);
}

/** Nodes of two workspaces may have the same name: how one does is kept with the node itself. */
export function healthWithNodes(
  health: Pick<LatencyTracker, "estimate">,
  nodes: NodeOverlay,
): Pick<LatencyTracker, "estimate"> {
  return { estimate: (endpoint, nowMs) => (nodes.entryFor(endpoint)?.health ?? health).estimate(endpoint, nowMs) };
}

export function breakersWithNodes(breakers: CircuitStateReader, nodes: NodeOverlay): CircuitStateReader {
  // Who asks for everybody asks for nodes, too.
  if (breakers === ALL_CLOSED) return breakers;
  return { circuitStateOf: (endpoint) => (nodes.entryFor(endpoint)?.breakers ?? breakers).circuitStateOf(endpoint) };
}

type ResourceLayers<Name extends keyof GatewayDeps> = Pick<GatewayDeps, Name> & {
  readonly nodes: Pick<GatewayDeps["nodes"], "layerOf">;
};

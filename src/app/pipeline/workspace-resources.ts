import type { CatalogueSnapshot, ProviderConnections } from "../../domain/catalogue/catalogue.ts";
import { ALL_CLOSED, type CircuitStateReader } from "../../domain/routing/circuit-state.ts";
import type { LatencyTracker } from "../../domain/routing/endpoint-health.ts";
import type { ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import type { OwnKey, OwnKeyUse } from "../../domain/tenancy/own-key.ts";
import type { NodeOverlay } from "../../io/tunnel/node-overlay.ts";
import { overlayConnections } from "../../io/upstream/own-keys.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

// A workspace's own keys and nodes overlay the platform's resources. Without any, these functions return the platform's
// own objects.

export function snapshotFor({ catalogue, nodes }: ResourceLayers<"catalogue">, workspaceId: string): CatalogueSnapshot {
  return nodes.overlayFor(workspaceId)?.snapshot ?? catalogue.snapshot;
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

export type OwnKeyDeps = Pick<GatewayDeps, "ownKeys">;

/** The current setting of an own key; of a removed key its last one. */
export function currentKeyUse({ ownKeys }: OwnKeyDeps, { workspaceId, provider, use }: OwnKey): OwnKeyUse {
  return ownKeys.of(workspaceId)?.keys.get(provider)?.key.use ?? use;
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

export type ResourceLayers<Name extends keyof GatewayDeps> = Pick<GatewayDeps, Name> & {
  readonly nodes: Pick<GatewayDeps["nodes"], "overlayFor">;
};

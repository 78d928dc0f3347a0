import type { CatalogueSnapshot, ProviderConnections } from "../domain/catalogue/catalogue.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import { LatencyTracker } from "../domain/routing/latency-tracker.ts";
import { Reachability } from "../domain/routing/reachability.ts";
import { SessionAffinity } from "../domain/routing/session-affinity.ts";
import { TrafficStats } from "../domain/routing/traffic-stats.ts";
import type { Directory } from "../domain/tenancy/directory.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import { isSpoken } from "../io/upstream/lanes.ts";

/** What requests are planned by: who can be reached, what is known of them, and whose rules hold. */
export function routingOf(
  snapshot: () => CatalogueSnapshot,
  connections: ProviderConnections,
  directory: Directory,
  proofs: ProofLookup,
) {
  return {
    reach: new Reachability(snapshot, connections, isSpoken, proofs),
    health: new LatencyTracker(),
    learned: new TrafficStats(),
    sessions: new SessionAffinity(),
    policyOf: (workspaceId: string, keyId: string | null) => directory.policyOf(workspaceId, keyId),
    routerOf: (workspaceId: string, slug: string) => directory.router(workspaceId, slug),
    spenderOf: (principal: Principal) => directory.spendScopeOf(principal),
  };
}

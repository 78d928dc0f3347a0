import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { connectionsFor, snapshotFor } from "../app/pipeline/workspace-resources.ts";
import type { ModelDeps } from "../app/surfaces/models.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import type { Surface } from "../domain/record/record.ts";
import { excludedByPolicy, permitsModel } from "../domain/routing/policy.ts";

/** What the lists of models are made from. */
export function createModelDeps(gateway: GatewayDeps, proofs: ProofLookup, enabled: readonly Surface[]): ModelDeps {
  return {
    snapshotOf: (workspaceId) => snapshotFor(gateway, workspaceId),
    connectionsOf: (workspaceId) => connectionsFor(gateway, workspaceId),
    proofs,
    nowMs: () => gateway.clock.nowMs(),
    marginOf: (workspaceId) => gateway.margins.marginFor(workspaceId),
    allows: (endpoint, policy) => excludedByPolicy(endpoint, policy) === undefined,
    permits: permitsModel,
    servedSurfaces: enabled,
  };
}

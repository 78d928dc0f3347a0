import type { Exchange } from "../app/exchange.ts";
import { workspaceNotFound } from "../app/manage/deps.ts";
import { membershipOf } from "../app/manage/membership.ts";
import type { GatewayDeps } from "../app/pipeline/gateway-deps.ts";
import { connectionsFor, reachabilityFor, snapshotFor } from "../app/pipeline/workspace-resources.ts";
import type { CallerCatalogue } from "../app/surfaces/catalogue.ts";
import type { ProofLookup } from "../domain/catalogue/proofs.ts";
import type { Surface } from "../domain/record/record.ts";
import { WorkspaceAvailability } from "../domain/routing/availability.ts";
import { isOperatorActor } from "../domain/tenancy/actor.ts";
import { type Policy, policyOfKey } from "../domain/tenancy/policy.ts";
import type { Workspace } from "../domain/tenancy/workspace.ts";
import { authenticateManager } from "../edge/authenticate-manager.ts";
import type { ManagerAuth } from "../edge/edge-deps.ts";
import { type OptionalKeyDeps, optionalPrincipal } from "../edge/optional-key.ts";

/** Who may see the availability of a workspace's models. */
export type CatalogueCallers = OptionalKeyDeps & { readonly managerAuth: ManagerAuth };

type CatalogueCaller = { readonly workspace: Workspace; readonly policy: Policy };

/** The catalogue as an authenticated caller of a public route sees it; undefined for anonymous callers. */
export function callerCatalogue(
  callers: CatalogueCallers,
  gateway: GatewayDeps,
  proofs: ProofLookup,
  surfaces: readonly Surface[],
): (exchange: Exchange) => Promise<CallerCatalogue | undefined> {
  return async (exchange) => {
    const caller = await identifyCaller(callers, exchange);
    if (caller === undefined) return undefined;
    const { id, currency } = caller.workspace;
    const snapshot = snapshotFor(gateway, id);
    const availability = new WorkspaceAvailability({
      snapshot,
      reachability: reachabilityFor(gateway, id),
      connections: connectionsFor(gateway, id),
      proofs,
      surfaces,
      policy: caller.policy,
      walletCurrency: currency,
      nowMs: gateway.clock.nowMs(),
    });
    return { snapshot, margin: gateway.margins.marginFor(id), availability };
  };
}

/** An API key decides for itself; everyone else names the workspace, and is refused if it is not theirs. */
async function identifyCaller(callers: CatalogueCallers, exchange: Exchange): Promise<CatalogueCaller | undefined> {
  const named = exchange.query.get("workspace");
  const principal = await optionalPrincipal(callers, exchange, "inference:models");
  if (principal !== undefined && (named === null || isNamed(principal.workspace, named))) {
    const { workspace, key } = principal;
    return { workspace, policy: policyOfKey(workspace.policy, key) };
  }
  if (named === null) return undefined;
  const { headers, clientAddress, receivedAtMs } = exchange;
  const request = { headers, method: "GET", clientAddress };
  const actor = await authenticateManager(request, callers.managerAuth, receivedAtMs);
  const workspace = callers.directory.workspace(named);
  const isAllowed =
    workspace !== undefined && (isOperatorActor(actor) || membershipOf(callers, actor, workspace.id) !== undefined);
  if (!isAllowed) throw workspaceNotFound(named);
  return { workspace, policy: workspace.policy };
}

function isNamed({ id, slug }: Workspace, name: string): boolean {
  return name === slug || name === id;
}

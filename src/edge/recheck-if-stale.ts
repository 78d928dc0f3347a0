import type { Route } from "../contract/route.ts";
import type { RateWindowVerdict } from "../domain/admission/shared-state.ts";
import type { Principal } from "../domain/tenancy/key.ts";
import { addRateHeaders, type KeyAuthenticator, type KeyCheck, keyFault, windowFault } from "./authenticate.ts";
import type { KeyAuthenticatorDeps } from "./edge-deps.ts";
import type { UnauthenticatedExchange } from "./edge-exchange.ts";

/** Repeats the checks of a key when another instance has changed its workspace since it was loaded here. */
export async function recheckIfStale(
  authenticator: KeyAuthenticator,
  fleet: KeyAuthenticatorDeps["fleet"],
  exchange: UnauthenticatedExchange,
  route: Route,
  check: KeyCheck,
): Promise<KeyCheck> {
  const { window } = check;
  const { id } = check.principal.workspace;
  if (window?.version === undefined || fleet.isCurrent(id, window.version)) return check;
  await fleet.refreshWorkspace(id, window.version);
  const principal = authenticator.findPrincipal(exchange);
  const refusal =
    keyFault(principal, exchange.clientAddress, exchange.receivedAtMs) ?? authenticator.routeFault(principal, route);
  if (refusal !== undefined) return { principal, refusal, window };
  return applyCurrentLimit(authenticator, exchange, route, principal, window);
}

async function applyCurrentLimit(
  authenticator: KeyAuthenticator,
  exchange: UnauthenticatedExchange,
  route: Route,
  principal: Principal,
  window: RateWindowVerdict,
): Promise<KeyCheck> {
  const limit = authenticator.limitOf(principal);
  // A call that the old limit rejected was not counted yet.
  if (limit !== window.limit && !window.isAllowed) return authenticator.checkWindow(exchange, route, principal);
  const used = window.limit - window.remaining;
  const current: RateWindowVerdict =
    limit === window.limit
      ? window
      : { ...window, limit, remaining: Math.max(0, limit - used), isAllowed: used <= limit };
  addRateHeaders(exchange.baseHeaders, current);
  return { principal, refusal: windowFault(current, route), window: current };
}

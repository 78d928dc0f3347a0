import { fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Exchange } from "../exchange.ts";

/** Maximum age of the sign-in for changes of credentials and roles. */
export const FRESH_MS = 15 * 60_000;

type FreshnessDeps = { readonly clock: Clock };

export function isFresh({ clock }: FreshnessDeps, signedInAtMs: number): boolean {
  return clock.nowMs() - signedInAtMs < FRESH_MS;
}

export function requireFreshSession(context: FreshnessDeps, signedInAtMs: number): void {
  if (isFresh(context, signedInAtMs)) return;
  throw fault("fresh_sign_in_needed", { message: "Sign in again, then repeat the action." });
}

/** An old session may be stolen and must not create lasting access. Tokens have no sign-in and are exempt. */
export function requireFreshSignIn(context: FreshnessDeps, { actor }: Pick<Exchange, "actor">): void {
  if (actor?.is === "person") requireFreshSession(context, actor.person.signedInAtMs);
}

/** Applies to roles above `member` and above the member's current role. */
export function requireFreshSignInForRole(
  context: FreshnessDeps,
  exchange: Pick<Exchange, "actor">,
  role: Role,
  had: Role = "member",
): void {
  if (!isAtLeast(had, role)) requireFreshSignIn(context, exchange);
}

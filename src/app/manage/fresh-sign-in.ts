import { fault } from "../../contract/faults.ts";
import { isAtLeast } from "../../domain/tenancy/actor.ts";
import type { Role } from "../../domain/tenancy/workspace.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Exchange } from "../exchange.ts";

/** What decides who can sign in, or who has power here, asks for a sign-in that is at most this old. */
export const FRESH_MS = 15 * 60_000;

type FreshnessDeps = { readonly clock: Clock };

export function isFresh({ clock }: FreshnessDeps, signedInAtMs: number): boolean {
  return clock.nowMs() - signedInAtMs < FRESH_MS;
}

export function requireFreshSession(context: FreshnessDeps, signedInAtMs: number): void {
  if (isFresh(context, signedInAtMs)) return;
  throw fault("fresh_sign_in_needed", { message: "Sign in again first, then repeat this." });
}

/** An old session may be in other hands: it must not make itself a way back. Tokens are no sign-in. */
export function requireFreshSignIn(context: FreshnessDeps, { actor }: Pick<Exchange, "actor">): void {
  if (actor?.is === "person") requireFreshSession(context, actor.person.signedInAtMs);
}

/** A role that is above a plain member's, and above the one that they have. */
export function requireFreshSignInForRole(
  context: FreshnessDeps,
  exchange: Pick<Exchange, "actor">,
  role: Role,
  had: Role = "member",
): void {
  if (!isAtLeast(had, role)) requireFreshSignIn(context, exchange);
}

import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { chain } from "../../kit/maybe-promise.ts";

/** What the primary keeps in memory for its workers when no Redis does. `Owner` identifies a worker. */
export type SharedResources<Owner> = {
  readonly state: SharedState;
  readonly coordination: CoordinationStore;
  readonly reservations: ReservationRegistry<Owner>;
};

/**
 * A state whose rate windows carry the version of their workspace: `bumpVersion` sets a new one, and every worker that
 * sees it reloads the workspace.
 */
export function versionedState(state: SharedState, createVersion: () => string): SharedState {
  /** Version of workspaces that were not changed since the primary started: workers loaded them after that. */
  const initial = createVersion();
  const versions = new Map<string, string>();
  const versionOf = (workspaceId: string) => versions.get(workspaceId) ?? initial;
  return {
    ...state,
    consumeRateWindow: (key, limit) =>
      chain(state.consumeRateWindow(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    peekRateWindow: (key, limit) =>
      chain(state.peekRateWindow(key, limit), (verdict) => ({ ...verdict, version: versionOf(key.workspaceId) })),
    async bumpVersion(workspaceId) {
      versions.set(workspaceId, createVersion());
    },
  };
}

type ReservedHold<Owner> = { readonly owner: Owner; readonly workspaceId: string };
type ReservedClaim<Owner> = { readonly owner: Owner; readonly requestId: string };

/**
 * Holds and idempotency claims of running requests, by the worker that runs them. When another worker resumes a
 * request, it becomes the owner: a stalled or crashed predecessor no longer releases them.
 */
export class ReservationRegistry<Owner> {
  readonly #holds = new Map<string, ReservedHold<Owner>>();
  /** By idempotency key. */
  readonly #claims = new Map<string, ReservedClaim<Owner>>();

  addHold(owner: Owner, requestId: string, workspaceId: string): void {
    this.#holds.set(requestId, { owner, workspaceId });
  }

  addClaim(owner: Owner, key: string, requestId: string): void {
    this.#claims.set(key, { owner, requestId });
  }

  removeHold(requestId: string): void {
    this.#holds.delete(requestId);
  }

  removeClaim(key: string, requestId: string): void {
    if (this.#claims.get(key)?.requestId === requestId) this.#claims.delete(key);
  }

  /** Another worker continues the request. */
  handOver(owner: Owner, requestId: string): void {
    if (this.ownsHold(owner, requestId)) this.#holds.delete(requestId);
    for (const [key, claimant] of this.claimsOf(owner)) if (claimant === requestId) this.#claims.delete(key);
  }

  ownsHold(owner: Owner, requestId: string): boolean {
    return this.#holds.get(requestId)?.owner === owner;
  }

  ownsClaim(owner: Owner, key: string): boolean {
    return this.#claims.get(key)?.owner === owner;
  }

  holdsOf(owner: Owner): [requestId: string, workspaceId: string][] {
    return [...this.#holds]
      .filter(([, hold]) => hold.owner === owner)
      .map(([requestId, { workspaceId }]) => [requestId, workspaceId]);
  }

  claimsOf(owner: Owner): [key: string, requestId: string][] {
    return [...this.#claims]
      .filter(([, claim]) => claim.owner === owner)
      .map(([key, { requestId }]) => [key, requestId]);
  }
}

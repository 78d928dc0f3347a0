type ReservedHold<Worker> = { readonly by: Worker; readonly workspaceId: string };
type ReservedClaim<Worker> = { readonly by: Worker; readonly requestId: string };

/**
 * What running requests have reserved, each for the worker that runs it: of those that ran one after the other, the last.
 * One that stood still, or has died, may have had its work taken up.
 */
export class ReservationRegistry<Worker> {
  readonly #holds = new Map<string, ReservedHold<Worker>>();
  /** By key. */
  readonly #claims = new Map<string, ReservedClaim<Worker>>();

  addHold(by: Worker, requestId: string, workspaceId: string): void {
    this.#holds.set(requestId, { by, workspaceId });
  }

  addClaim(by: Worker, key: string, requestId: string): void {
    this.#claims.set(key, { by, requestId });
  }

  removeHold(requestId: string): void {
    this.#holds.delete(requestId);
  }

  removeClaim(key: string, requestId: string): void {
    if (this.#claims.get(key)?.requestId === requestId) this.#claims.delete(key);
  }

  /** Another goes on with it. */
  handOver(by: Worker, requestId: string): void {
    if (this.ownsHold(by, requestId)) this.#holds.delete(requestId);
    for (const [key, claimant] of this.claimsOf(by)) if (claimant === requestId) this.#claims.delete(key);
  }

  ownsHold(by: Worker, requestId: string): boolean {
    return this.#holds.get(requestId)?.by === by;
  }

  ownsClaim(by: Worker, key: string): boolean {
    return this.#claims.get(key)?.by === by;
  }

  holdsOf(by: Worker): [requestId: string, workspaceId: string][] {
    return [...this.#holds].filter(([, hold]) => hold.by === by).map(([id, { workspaceId }]) => [id, workspaceId]);
  }

  claimsOf(by: Worker): [key: string, requestId: string][] {
    return [...this.#claims].filter(([, claim]) => claim.by === by).map(([key, { requestId }]) => [key, requestId]);
  }
}

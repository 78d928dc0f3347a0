export type WalletDebit = { readonly workspaceId: string; readonly currency: string; nanos: bigint };

/** What a batch takes from each wallet. A wallet has one currency; a second one shows here and is refused in SQL. */
export class WalletDebits {
  readonly #sums = new Map<string, WalletDebit[]>();

  add(workspaceId: string, currency: string, nanos: bigint): void {
    const ofWorkspace = this.#sums.get(workspaceId);
    const known = ofWorkspace?.find((sum) => sum.currency === currency);
    if (known !== undefined) known.nanos += nanos;
    else if (ofWorkspace !== undefined) ofWorkspace.push({ workspaceId, currency, nanos });
    else this.#sums.set(workspaceId, [{ workspaceId, currency, nanos }]);
  }

  rows(): WalletDebit[] {
    return [...this.#sums.values()].flat();
  }
}

export type WalletDebit = { readonly workspaceId: string; readonly currency: string; nanos: bigint };

/** The debits of a batch per wallet. A wallet has one currency; a second one is listed separately and rejected by SQL. */
export class WalletDebits {
  readonly #sums = new Map<string, WalletDebit[]>();

  add(workspaceId: string, currency: string, nanos: bigint): void {
    const debits = this.#sums.get(workspaceId);
    const existing = debits?.find((sum) => sum.currency === currency);
    if (existing !== undefined) existing.nanos += nanos;
    else if (debits !== undefined) debits.push({ workspaceId, currency, nanos });
    else this.#sums.set(workspaceId, [{ workspaceId, currency, nanos }]);
  }

  rows(): WalletDebit[] {
    return [...this.#sums.values()].flat();
  }
}

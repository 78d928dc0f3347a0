import type { Row } from "../../api/client.ts";

export type Provider = Row<"manageListProviders">;
export type OwnKey = Row<"manageListOwnKeys">;
export type Use = OwnKey["use"];

/** A provider with the workspace's key and its connection state. */
export type ProviderRow = {
  readonly provider: Provider;
  readonly own: OwnKey | undefined;
  readonly state: ConnectionState;
};
export type ConnectionState = "own" | "operator" | "none";

export const STATES: readonly { readonly value: ConnectionState | "all"; readonly label: string }[] = [
  { value: "all", label: "All providers" },
  { value: "own", label: "Your key" },
  { value: "operator", label: "Operator's key" },
  { value: "none", label: "Not connected" },
];

/** Own keys first, then operator connections. Simulated providers have no keys. */
export function providerRows(providers: readonly Provider[], keys: readonly OwnKey[]): ProviderRow[] {
  const own = new Map(keys.map((key) => [key.provider, key]));
  const rows = providers
    .filter(({ sandbox }) => !sandbox)
    .map((provider): ProviderRow => {
      const key = own.get(provider.slug);
      return { provider, own: key, state: key !== undefined ? "own" : provider.connected ? "operator" : "none" };
    });
  return rows.toSorted((a, b) => RANK[a.state] - RANK[b.state] || a.provider.name.localeCompare(b.provider.name));
}

const RANK: Readonly<Record<ConnectionState, number>> = { own: 0, operator: 1, none: 2 };

export const USES: readonly { readonly value: Use; readonly label: string; readonly description: string }[] = [
  {
    value: "first",
    label: "First",
    description: "Use your key before the operator's. If it fails, the operator's credential is used and charged.",
  },
  { value: "only", label: "Only", description: "Use only your key. If it fails, the provider fails." },
  { value: "fallback", label: "Fallback", description: "Use your key after the operator's credential failed." },
];

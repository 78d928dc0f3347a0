import type { Row } from "../../api/client.ts";

export type Provider = Row<"manageListProviders">;
export type OwnKey = Row<"manageListOwnKeys">;
export type Use = OwnKey["use"];

/** A provider as this workspace reaches it. */
export type Reached = { readonly provider: Provider; readonly own: OwnKey | undefined; readonly state: State };
export type State = "own" | "operator" | "none";

export const STATES: readonly { readonly value: State | "all"; readonly label: string }[] = [
  { value: "all", label: "All" },
  { value: "own", label: "Own key" },
  { value: "operator", label: "Operator's key" },
  { value: "none", label: "Not connected" },
];

/** Own keys first, then what the operator has connected; simulated providers take no keys. */
export function reachedOf(providers: readonly Provider[], keys: readonly OwnKey[]): Reached[] {
  const own = new Map(keys.map((key) => [key.provider, key]));
  const rows = providers
    .filter(({ sandbox }) => !sandbox)
    .map((provider): Reached => {
      const key = own.get(provider.slug);
      return { provider, own: key, state: key !== undefined ? "own" : provider.connected ? "operator" : "none" };
    });
  return rows.toSorted((a, b) => RANK[a.state] - RANK[b.state] || a.provider.name.localeCompare(b.provider.name));
}

const RANK: Readonly<Record<State, number>> = { own: 0, operator: 1, none: 2 };

export const USES: readonly { readonly value: Use; readonly label: string; readonly says: string }[] = [
  {
    value: "first",
    label: "First",
    says: "Your key is tried before the operator's. When it fails, the operator's credential serves and is charged.",
  },
  { value: "only", label: "Only", says: "Nothing but your key: when it fails, this provider fails." },
  { value: "fallback", label: "Fallback", says: "Your key is tried after everything of the operator's has failed." },
];

import { changedCatalogue } from "./changed-catalogue.ts";
import type { Json } from "./gateway.ts";

/** The shipped catalogue with prices for some providers' surcharges: for GATEWAY_CATALOGUE_DIR. */
export function catalogueWithExtras(byProvider: Readonly<Record<string, Json>>): string {
  const priced = (extras: Json) => (facts: Json) => {
    for (const endpoint of facts.endpoints) for (const row of endpoint.prices ?? []) row.extras = extras;
  };
  return changedCatalogue(
    Object.fromEntries(Object.entries(byProvider).map(([provider, extras]) => [provider, priced(extras)])),
  );
}

export const perUse = (price: string, usesMax = 4) => ({ per_use: price, uses_max: usesMax, source: "a test" });
export const times = (factor: string) => ({ times: factor, source: "a test" });

import type { ProviderPreferences, Wishes } from "../../language/canon/wishes.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import { ratesFor } from "./cost.ts";
import type { Reachable } from "./reach.ts";

/** What a request itself demands of every endpoint; it is checked wherever policy is checked. */
export function policyOfWishes(wishes: Wishes | undefined): Partial<Policy> | null {
  const preferences = wishes?.provider;
  if (preferences === undefined) return null;
  const { zeroDataRetention = false, dataCollection } = preferences;
  if (!zeroDataRetention && dataCollection !== "deny") return null;
  return { zeroDataRetention, noTraining: dataCollection === "deny" };
}

/** Preferences made ready for one request. */
export type Preferring = {
  readonly preferences: ProviderPreferences;
  readonly inputTokens: number;
  /** Units of the wallet's currency for a US dollar; undefined when there is no rate. */
  readonly walletPerUsd: number | undefined;
};

/** Which member of `provider` keeps the endpoint out, and why. */
export type Unwanted = { readonly rule: string; readonly reason: string };

/** The first preference that the endpoint does not meet. Nothing here lets anything in. */
export function unwantedBy(reachable: Reachable, preferring: Preferring): Unwanted | undefined {
  const { only, ignore, order, allowFallbacks, maxPrice } = preferring.preferences;
  const { endpoint } = reachable;
  if (only !== undefined && placeIn(only, endpoint) < 0)
    return { rule: "provider.only", reason: "it is not one of the providers the request names" };
  if (ignore !== undefined && placeIn(ignore, endpoint) >= 0)
    return { rule: "provider.ignore", reason: "the request leaves its provider out" };
  if (allowFallbacks === false && order !== undefined && placeIn(order, endpoint) < 0)
    return { rule: "provider.order", reason: "it is not in the order, and the request allows no fallbacks" };
  return maxPrice === undefined ? undefined : tooDear(reachable, maxPrice, preferring);
}

/** By its provider, by provider and region, or by its own id; -1 when it is not named. */
export function placeIn(names: readonly string[], { provider, region, id }: Endpoint): number {
  const tag = `${provider}/${region}`;
  return names.findIndex((name) => name === provider || name === id || name === tag);
}

const NANOS_PER_UNIT = 1e9;
const PER_MILLION = 1e6;
/** Prices go through exchange rates; a difference this small is none. */
const ROUNDING = 1 + 1e-9;

/** No endpoint of the catalogue is priced by the image: pictures are input tokens, which `prompt` bounds. */
function tooDear(
  { rates }: Reachable,
  maxPrice: NonNullable<ProviderPreferences["maxPrice"]>,
  { walletPerUsd, inputTokens }: Preferring,
): Unwanted | undefined {
  if (walletPerUsd === undefined)
    return { rule: "provider.max_price", reason: "there is no exchange rate to US dollars" };
  const { input, output } = ratesFor(rates, inputTokens);
  const usdPerMillion = (nanos: number) => (nanos * PER_MILLION) / (NANOS_PER_UNIT * walletPerUsd);
  const asked: readonly (readonly [string, number, number | undefined])[] = [
    ["prompt", usdPerMillion(input), maxPrice.prompt],
    ["completion", usdPerMillion(output), maxPrice.completion],
    ["request", rates.perRequest / (NANOS_PER_UNIT * walletPerUsd), maxPrice.request],
  ];
  for (const [name, usd, most] of asked) {
    if (most !== undefined && usd > most * ROUNDING)
      return { rule: "provider.max_price", reason: `its ${name} price is ${Number(usd.toPrecision(6))} USD` };
  }
  return undefined;
}

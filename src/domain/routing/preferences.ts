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
  readonly ceilings: Ceilings | undefined;
};

/** The highest prices in the wallet's own nano-units; `none` when there is no rate from US dollars to it. */
type Ceilings =
  | "none"
  | { readonly input: number; readonly output: number; readonly request: number; readonly usd: number };

const NANOS_PER_UNIT = 1e9;
const PER_MILLION = 1e6;
/** Prices go through exchange rates; a difference this small is none. */
const ROUNDING = 1 + 1e-9;

/** `walletPerUsd`: units of the wallet's currency for a US dollar; undefined when there is no rate. */
export function preferringOf(
  preferences: ProviderPreferences,
  inputTokens: number,
  walletPerUsd: number | undefined,
): Preferring {
  const { maxPrice } = preferences;
  if (maxPrice === undefined) return { preferences, inputTokens, ceilings: undefined };
  if (walletPerUsd === undefined) return { preferences, inputTokens, ceilings: "none" };
  const usd = walletPerUsd * NANOS_PER_UNIT;
  const most = (price: number | undefined, per: number) =>
    price === undefined ? Number.POSITIVE_INFINITY : (price * usd * ROUNDING) / per;
  const input = most(maxPrice.prompt, PER_MILLION);
  const output = most(maxPrice.completion, PER_MILLION);
  return { preferences, inputTokens, ceilings: { input, output, request: most(maxPrice.request, 1), usd } };
}

/** Why an endpoint is out: as it is, or put into words only when someone reads it, which is rarer than planning. */
export type Why = string | (() => string);

export function inWords(why: Why): string {
  return typeof why === "string" ? why : why();
}

/** Which member of `provider` keeps the endpoint out, and why. */
export type Unwanted = { readonly rule: string; readonly reason: Why };

/** The first preference that the endpoint does not meet. Nothing here lets anything in. */
export function unwantedBy(reachable: Reachable, preferring: Preferring): Unwanted | undefined {
  const { only, ignore, order, allowFallbacks } = preferring.preferences;
  const { endpoint } = reachable;
  if (only !== undefined && placeIn(only, endpoint) < 0)
    return { rule: "provider.only", reason: "it is not one of the providers the request names" };
  if (ignore !== undefined && placeIn(ignore, endpoint) >= 0)
    return { rule: "provider.ignore", reason: "the request leaves its provider out" };
  if (allowFallbacks === false && order !== undefined && placeIn(order, endpoint) < 0)
    return { rule: "provider.order", reason: "it is not in the order, and the request allows no fallbacks" };
  return preferring.ceilings === undefined
    ? undefined
    : tooDear(reachable, preferring.ceilings, preferring.inputTokens);
}

/** By its provider, by provider and region, or by its own id; -1 when it is not named. */
export function placeIn(names: readonly string[], endpoint: Endpoint): number {
  for (let place = 0; place < names.length; place += 1) if (isNamed(names[place] ?? "", endpoint)) return place;
  return -1;
}

function isNamed(name: string, { provider, region, id }: Endpoint): boolean {
  if (name === provider || name === id) return true;
  const tagged = name.length === provider.length + 1 + region.length && name[provider.length] === "/";
  return tagged && name.startsWith(provider) && name.endsWith(region);
}

/** No endpoint of the catalogue is priced by the image: pictures are input tokens, which `prompt` bounds. */
function tooDear({ rates }: Reachable, ceilings: Ceilings, inputTokens: number): Unwanted | undefined {
  if (ceilings === "none") return { rule: "provider.max_price", reason: "there is no exchange rate to US dollars" };
  const { input, output } = ratesFor(rates, inputTokens);
  const { usd } = ceilings;
  if (input > ceilings.input) return above("prompt", input, PER_MILLION / usd);
  if (output > ceilings.output) return above("completion", output, PER_MILLION / usd);
  return rates.perRequest > ceilings.request ? above("request", rates.perRequest, 1 / usd) : undefined;
}

function above(name: string, rate: number, inUsd: number): Unwanted {
  return {
    rule: "provider.max_price",
    reason: () => `its ${name} price is ${Math.round(rate * inUsd * 1e6) / 1e6} USD`,
  };
}

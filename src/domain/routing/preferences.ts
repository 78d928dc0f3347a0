import type { ProviderPreferences, RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import { ratesFor } from "./cost.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { ReachableEndpoint } from "./reachability.ts";

/** What a request itself demands of every endpoint; it is checked wherever policy is checked. */
export function policyFromHints(wishes: RoutingHints | undefined): Partial<Policy> | null {
  const preferences = wishes?.provider;
  if (preferences === undefined) return null;
  const { zeroDataRetention = false, dataCollection } = preferences;
  if (!zeroDataRetention && dataCollection !== "deny") return null;
  return { zeroDataRetention, noTraining: dataCollection === "deny" };
}

/** Preferences made ready for one request. */
export type PreparedPreferences = {
  readonly preferences: ProviderPreferences;
  readonly inputTokens: number;
  /** `no rate`: there are some, and no rate from US dollars to the wallet. */
  readonly ceilings: PriceCeilings | "no rate" | undefined;
};

/** The highest prices in the wallet's own nano-units, and what is said of those above them. */
type PriceCeilings = {
  readonly input: number;
  readonly output: number;
  readonly request: number;
  readonly tooDear: Readonly<Record<"prompt" | "completion" | "request", ExclusionCause>>;
};

const NANOS_PER_UNIT = 1e9;
const PER_MILLION = 1e6;
/** Prices go through exchange rates; a difference this small is none. */
const ROUNDING = 1 + 1e-9;

/** `walletPerUsd`: units of the wallet's currency for a US dollar; undefined when there is no rate. */
export function preparePreferences(
  preferences: ProviderPreferences,
  inputTokens: number,
  walletPerUsd: number | undefined,
): PreparedPreferences {
  const { maxPrice } = preferences;
  if (maxPrice === undefined) return { preferences, inputTokens, ceilings: undefined };
  if (walletPerUsd === undefined) return { preferences, inputTokens, ceilings: "no rate" };
  const usd = walletPerUsd * NANOS_PER_UNIT;
  const most = (price: number | undefined, per: number) =>
    price === undefined ? Number.POSITIVE_INFINITY : (price * usd * ROUNDING) / per;
  const perMillion = (name: string, rate: "input" | "output") =>
    priceCause(name, ({ rates }) => ratesFor(rates, inputTokens)[rate], PER_MILLION / usd);
  const ceilings = {
    input: most(maxPrice.prompt, PER_MILLION),
    output: most(maxPrice.completion, PER_MILLION),
    request: most(maxPrice.request, 1),
    tooDear: {
      prompt: perMillion("prompt", "input"),
      completion: perMillion("completion", "output"),
      request: priceCause("request", ({ rates }) => rates.perRequest, 1 / usd),
    },
  };
  return { preferences, inputTokens, ceilings };
}

function priceCause(name: string, rateOf: (row: ReachableEndpoint) => number, inUsd: number): ExclusionCause {
  return hintCause("max_price", (row) => `its ${name} price is ${Math.round(rateOf(row) * inUsd * 1e6) / 1e6} USD`);
}

function hintCause(member: string, reason: ExclusionCause["reason"]): ExclusionCause {
  return { stage: "wish", rule: `provider.${member}`, reason };
}

const NOT_IN_ONLY = hintCause("only", "it is not one of the providers the request names");
const IGNORED = hintCause("ignore", "the request leaves its provider out");
const NOT_IN_ORDER = hintCause("order", "it is not in the order, and the request allows no fallbacks");
const NO_EXCHANGE_RATE = hintCause("max_price", "there is no exchange rate to US dollars");

/** The first preference that the endpoint does not meet. Nothing here lets anything in. */
export function preferenceExclusionCause(
  reachable: ReachableEndpoint,
  preferring: PreparedPreferences,
): ExclusionCause | undefined {
  const { only, ignore, order, allowFallbacks } = preferring.preferences;
  const { endpoint } = reachable;
  if (only !== undefined && indexInList(only, endpoint) < 0) return NOT_IN_ONLY;
  if (ignore !== undefined && indexInList(ignore, endpoint) >= 0) return IGNORED;
  if (allowFallbacks === false && order !== undefined && indexInList(order, endpoint) < 0) return NOT_IN_ORDER;
  return preferring.ceilings === undefined
    ? undefined
    : priceExclusionCause(reachable, preferring.ceilings, preferring.inputTokens);
}

/** By its provider, by provider and region, or by its own id; -1 when it is not named. */
export function indexInList(names: readonly string[], endpoint: Endpoint): number {
  for (let place = 0; place < names.length; place += 1) if (matchesName(names[place] ?? "", endpoint)) return place;
  return -1;
}

function matchesName(name: string, { provider, region, id }: Endpoint): boolean {
  if (name === provider || name === id) return true;
  const tagged = name.length === provider.length + 1 + region.length && name[provider.length] === "/";
  return tagged && name.startsWith(provider) && name.endsWith(region);
}

/** No endpoint of the catalogue is priced by the image: pictures are input tokens, which `prompt` bounds. */
function priceExclusionCause(
  { rates }: ReachableEndpoint,
  ceilings: PriceCeilings | "no rate",
  inputTokens: number,
): ExclusionCause | undefined {
  if (ceilings === "no rate") return NO_EXCHANGE_RATE;
  const { input, output } = ratesFor(rates, inputTokens);
  if (input > ceilings.input) return ceilings.tooDear.prompt;
  if (output > ceilings.output) return ceilings.tooDear.completion;
  return rates.perRequest > ceilings.request ? ceilings.tooDear.request : undefined;
}

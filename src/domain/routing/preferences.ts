import type { ProviderPreferences, RoutingHints } from "../../language/canon/routing-hints.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import { ratesFor } from "./cost.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { PlanningContext } from "./planning-context.ts";
import type { ReachableEndpoint } from "./reachable-endpoint.ts";

/** Hints that act as policy, so that they are enforced wherever policy is. */
export function policyFromHints(hints: RoutingHints | undefined): Partial<Policy> | null {
  if (hints === undefined) return null;
  const { provider: { zeroDataRetention = false, dataCollection } = {}, dataClasses, cache } = hints;
  if (!zeroDataRetention && dataCollection !== "deny" && dataClasses === undefined && cache === undefined) return null;
  const rules = dataClasses === undefined ? {} : { dataClasses };
  const cacheRule = cache === undefined ? {} : { cache: { ...cache, isRequested: true as const } };
  return { zeroDataRetention, noTraining: dataCollection === "deny", ...rules, ...cacheRule };
}

/** Provider preferences with price ceilings in the wallet's currency. */
export type PreparedPreferences = {
  readonly preferences: ProviderPreferences;
  readonly inputTokens: number;
  /** `no rate`: ceilings were sent, and there is no exchange rate from US dollars to the wallet. */
  readonly ceilings: PriceCeilings | "no rate" | undefined;
};

/** In nano-units of the wallet, with the exclusion causes prepared once per request. */
type PriceCeilings = {
  readonly input: number;
  readonly output: number;
  readonly request: number;
  readonly causes: Readonly<Record<"prompt" | "completion" | "request", ExclusionCause>>;
};

const NANOS_PER_UNIT = 1e9;
const PER_MILLION = 1e6;
/** Tolerance for rounding in exchange rates. */
const ROUNDING = 1 + 1e-9;

/** A price ceiling applies to what the caller pays, and endpoints are compared by the provider's price. */
export function comparableWalletPerUsd({ walletPerUsd, priceFactor = 1 }: PlanningContext): number | undefined {
  return walletPerUsd === undefined || priceFactor === 1 ? walletPerUsd : walletPerUsd / priceFactor;
}

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
  const ceiling = (price: number | undefined, per: number) =>
    price === undefined ? Number.POSITIVE_INFINITY : (price * usd * ROUNDING) / per;
  const perMillion = (name: string, rate: "input" | "output") =>
    priceCause(name, ({ rates }) => ratesFor(rates, inputTokens)[rate], PER_MILLION / usd);
  const ceilings = {
    input: ceiling(maxPrice.prompt, PER_MILLION),
    output: ceiling(maxPrice.completion, PER_MILLION),
    request: ceiling(maxPrice.request, 1),
    causes: {
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
  return { stage: "hint", rule: `provider.${member}`, reason };
}

const NOT_IN_ONLY = hintCause("only", "its provider is not in provider.only");
const IGNORED = hintCause("ignore", "its provider is in provider.ignore");
const NOT_IN_ORDER = hintCause("order", "it is not in provider.order, and fallbacks are not allowed");
const NO_EXCHANGE_RATE = hintCause("max_price", "there is no exchange rate to US dollars");

/** The first preference that excludes the endpoint. Preferences never admit one. */
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

/** Entries match by provider, by `provider/region` or by endpoint id; -1 when none does. */
export function indexInList(names: readonly string[], endpoint: Endpoint): number {
  for (let index = 0; index < names.length; index += 1) if (matchesName(names[index] ?? "", endpoint)) return index;
  return -1;
}

function matchesName(name: string, { provider, region, id }: Endpoint): boolean {
  if (name === provider || name === id) return true;
  const isProviderRegion = name.length === provider.length + 1 + region.length && name[provider.length] === "/";
  return isProviderRegion && name.startsWith(provider) && name.endsWith(region);
}

/** `max_price.image` has no effect: images are billed as input tokens, which `prompt` bounds. */
function priceExclusionCause(
  { rates }: ReachableEndpoint,
  ceilings: PriceCeilings | "no rate",
  inputTokens: number,
): ExclusionCause | undefined {
  if (ceilings === "no rate") return NO_EXCHANGE_RATE;
  const { input, output } = ratesFor(rates, inputTokens);
  if (input > ceilings.input) return ceilings.causes.prompt;
  if (output > ceilings.output) return ceilings.causes.completion;
  return rates.perRequest > ceilings.request ? ceilings.causes.request : undefined;
}

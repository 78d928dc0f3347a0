import type { Sovereignty } from "../../src/domain/catalogue/catalogue.ts";
import type { Policy } from "../../src/domain/tenancy/policy.ts";
import type { RouterSpec } from "../../src/domain/tenancy/router.ts";
import type { Catalogue, PlainPrice } from "./catalogue.ts";
import { barredByData, type RequestData } from "./data-classes.ts";
import type { RawHints } from "./routing-hints.ts";

/**
 * The rules a second time, in the simplest form and independent of the gateway's code: layers are not combined, each of
 * them is checked separately.
 */
const RUNGS: Readonly<Record<string, number>> = { L0: 0, L1: 1, L2: 2, L3: 3, L4: 4 };

export type Layers = {
  readonly workspace: Policy;
  readonly key: Partial<Policy> | null;
  /** The router as it was when the request was planned, and as it is now. */
  readonly routers: readonly RouterSpec[];
  readonly hints: RawHints;
  readonly data: RequestData;
};

/** Why this endpoint may not see the request; undefined when it may. */
export function forbidden(endpointId: string, catalogue: Catalogue, layers: Layers): string | undefined {
  const endpoint = catalogue.snapshot.endpoints.get(endpointId);
  if (endpoint === undefined) return "the catalogue has no such endpoint";
  if (endpoint.status === "retired") return "it is retired";
  const { workspace, key, routers, hints, data } = layers;
  const { sovereignty, model, provider, region } = endpoint;
  const names = [provider, `${provider}/${region}`, endpointId];
  return (
    byPolicy("workspace", workspace, sovereignty, provider, model) ??
    byPolicy("key", key ?? {}, sovereignty, provider, model) ??
    first(routers, (spec) => byRouter(spec, sovereignty, provider, model)) ??
    excludedByHints(hints, sovereignty, names) ??
    first(dataRulesOf(layers), (rules) => barredByData(rules, data, sovereignty.level))
  );
}

/** The rules of data classes in every layer. */
export const dataRulesOf = ({ workspace, key, hints }: Layers) => [
  workspace.dataClasses,
  key?.dataClasses,
  hints.data_classes,
];

function first<T>(from: readonly T[], check: (one: T) => string | undefined): string | undefined {
  for (const one of from) {
    const found = check(one);
    if (found !== undefined) return found;
  }
  return undefined;
}

function byPolicy(
  layer: string,
  policy: Partial<Policy>,
  facts: Sovereignty,
  provider: string,
  model: string,
): string | undefined {
  const { floor, countries, zeroDataRetention, noTraining, blockedProviders, allowedModels } = policy;
  if (floor != null && !reaches(facts.level, floor)) return `${layer}: level ${facts.level} under floor ${floor}`;
  if (countries != null && !staysIn(facts, countries)) return `${layer}: computes outside ${countries.join()}`;
  if (zeroDataRetention === true && facts.zeroDataRetention !== "yes") return `${layer}: keeps data`;
  if (noTraining === true && facts.trainsOnData !== "no") return `${layer}: may train`;
  if (blockedProviders?.includes(provider)) return `${layer}: ${provider} is blocked`;
  if (allowedModels != null && !allowedModels.includes(model)) return `${layer}: model ${model} is not allowed`;
  return undefined;
}

function byRouter(spec: RouterSpec, facts: Sovereignty, provider: string, model: string): string | undefined {
  const { floor, countries, models, fallback } = spec;
  const allowedModels = models === null ? null : [...models, ...fallback];
  return byPolicy("router", { floor, countries, allowedModels }, facts, provider, model);
}

function excludedByHints(
  { provider: wish }: RawHints,
  facts: Sovereignty,
  names: readonly string[],
): string | undefined {
  if (wish === undefined) return undefined;
  const isNamed = (list: readonly string[]) => list.some((name) => names.includes(name));
  if (wish.only !== undefined && !isNamed(wish.only)) return "request: not one of `only`";
  if (wish.ignore !== undefined && isNamed(wish.ignore)) return "request: one of `ignore`";
  if (wish.zdr === true && facts.zeroDataRetention !== "yes") return "request: keeps data";
  if (wish.data_collection === "deny" && facts.trainsOnData !== "no") return "request: may train";
  if (wish.order !== undefined && wish.allow_fallbacks === false && !isNamed(wish.order))
    return "request: not in `order`";
  return undefined;
}

/** A level satisfies a floor at or below it; an unclassified endpoint satisfies none. */
function reaches(level: string, floor: string): boolean {
  const [has, needs] = [RUNGS[level], RUNGS[floor]];
  return has !== undefined && needs !== undefined && has >= needs;
}

function staysIn({ countries, countriesKind }: Sovereignty, allowed: readonly string[]): boolean {
  if (countriesKind === "unknown" || countries.length === 0) return false;
  for (const country of countries) if (!allowed.includes(country)) return false;
  return true;
}

/** A router's minimum quality for models it chooses; an unknown quality is below any. */
export function isGoodEnough(model: string, catalogue: Catalogue, { qualityFloor }: RouterSpec): boolean {
  if (qualityFloor === null) return true;
  const quality = catalogue.snapshot.models.get(model)?.quality;
  return quality != null && quality.score >= qualityFloor;
}

/** The maximum price the request allows, in US dollars. */
export function isCheapEnough({ currency, input, output, perRequest }: PlainPrice, { provider }: RawHints): boolean {
  const most = provider?.max_price;
  if (most === undefined) return true;
  const usd = (nanos: number) => (currency === "USD" ? nanos : nanos * 1.25);
  if (most.prompt !== undefined && usd(input) / 1000 > most.prompt * 1.000001) return false;
  if (most.completion !== undefined && usd(output) / 1000 > most.completion * 1.000001) return false;
  return most.request === undefined || usd(perRequest) / 1e9 <= most.request * 1.000001;
}

export type Used = { readonly input: number; readonly cached: number; readonly output: number };

/** The cost of a reply in nano-units of the wallet. */
export function costOf(price: PlainPrice, { input, cached, output }: Used, walletCurrency: string): bigint {
  const nanos = (input - cached) * price.input + cached * price.cached + output * price.output + price.perRequest;
  if (price.currency === walletCurrency) return BigInt(nanos);
  return walletCurrency === "USD" ? BigInt((nanos / 4) * 5) : BigInt((nanos / 5) * 4);
}

import type { CatalogueSnapshot, Endpoint, Model, Price, Sovereignty } from "../../src/domain/catalogue/catalogue.ts";
import { parseDecimal } from "../../src/kit/money.ts";
import { endpointOf, modelOf, qualityOf } from "../support/routing.ts";
import type { Chance } from "./chance.ts";

export const MODELS = ["acme/one", "acme/two", "zeta/three", "beta/four"] as const;
export const PROVIDERS = ["north", "south", "east", "west", "moon"] as const;
export const COUNTRIES = ["FR", "DE", "CH", "US"] as const;
export const CURRENCIES = ["EUR", "USD"] as const;
const LEVELS = ["L0", "L1", "L2", "L3", "L4", "UNCLASSIFIED"] as const;

/** A price in whole nano-units per token, so that every charge is exact without rounding. */
export type PlainPrice = {
  readonly currency: (typeof CURRENCIES)[number];
  readonly input: number;
  readonly cached: number;
  readonly output: number;
  readonly perRequest: number;
};

/** What the simulation itself knows of an endpoint, beside the row that the gateway reads. */
export type CataloguedEndpoint = { readonly endpoint: Endpoint; readonly price: PlainPrice; readonly address: string };

export type Catalogue = {
  readonly snapshot: CatalogueSnapshot;
  readonly endpoints: ReadonlyMap<string, CataloguedEndpoint>;
  /** The endpoint at an address. */
  readonly byAddress: ReadonlyMap<string, string>;
};

const CONTEXT_TOKENS = 20_000;
/** Divisible by four and by five: the dollar is at 1.25 to the euro, and nothing is ever rounded. */
const STEP = 20;

function decimal(text: string) {
  const value = parseDecimal(text);
  if (value === undefined) throw new Error(`not a number: ${text}`);
  return value;
}

function priceRow({ currency, input, cached, output, perRequest }: PlainPrice): Price {
  const perMillion = (nanos: number) => decimal((nanos / 1000).toFixed(3));
  return {
    currency,
    from: null,
    inputPer1mTokens: perMillion(input),
    outputPer1mTokens: perMillion(output),
    cachedReadPer1mTokens: cached === input ? null : perMillion(cached),
    cacheWritePer1mTokens: null,
    audioInputPer1mTokens: null,
    audioOutputPer1mTokens: null,
    per1mCharacters: null,
    perMinuteAudio: null,
    perRequest: perRequest === 0 ? null : decimal((perRequest / 1e9).toFixed(9)),
    tiers: [],
  };
}

function drawPrice(chance: Chance): PlainPrice {
  const input = STEP * chance.between(1, 200);
  return {
    currency: chance.pick(CURRENCIES),
    input,
    cached: chance.is(0.5) ? input : STEP * Math.ceil(input / STEP / 4),
    output: STEP * chance.between(1, 600),
    perRequest: chance.is(0.15) ? STEP * chance.between(1, 50_000) : 0,
  };
}

/** Mostly acceptable for most policies; every possible defect occurs too. */
function drawFacts(chance: Chance): Sovereignty {
  return {
    level: chance.is(0.6) ? chance.pick(["L2", "L3", "L4"]) : chance.pick(LEVELS),
    reason: "",
    confidence: "high",
    countries: chance.is(0.08) ? [] : chance.is(0.6) ? [chance.pick(["FR", "DE"])] : chance.atLeastOne(COUNTRIES, 0.4),
    countriesKind: chance.is(0.8) ? "exact" : chance.pick(["upper_bound", "unknown"]),
    zeroDataRetention: chance.is(0.65) ? "yes" : chance.pick(["no", "on_request", "unknown"]),
    trainsOnData: chance.is(0.7) ? "no" : chance.pick(["yes", "unknown"]),
    evidence: [],
  };
}

function drawEndpoint(chance: Chance, provider: string, model: string, region: string): CataloguedEndpoint {
  const price = drawPrice(chance);
  const address = `http://${provider}.${region}.test/${chance.between(1, 9)}/v1`;
  const dialect = chance.is(0.7) ? "D1" : "D2";
  const endpoint = endpointOf({
    provider,
    model,
    region,
    sovereignty: drawFacts(chance),
    more: {
      upstreamModel: `${model}@${region}`,
      baseUrl: `${address}/${model}`,
      dialects: [dialect],
      prices: [priceRow(price)],
      limits: { contextTokens: CONTEXT_TOKENS, maxInputTokens: null, maxOutputTokens: null },
    },
  });
  return { endpoint, price, address: `${address}/${model}` };
}

export function drawCatalogue(chance: Chance): Catalogue {
  const models = MODELS.map((id) =>
    modelOf(id, { quality: chance.is(0.75) ? qualityOf(chance.between(1, 9) / 10) : null }),
  );
  const endpoints: CataloguedEndpoint[] = [];
  for (const model of MODELS)
    for (const provider of chance.atLeastOne(PROVIDERS, 0.8))
      for (const region of chance.is(0.2) ? ["r1", "r2"] : ["r1"])
        endpoints.push(drawEndpoint(chance, provider, model, region));
  return catalogueOf(models, endpoints, 1);
}

function catalogueOf(models: readonly Model[], items: readonly CataloguedEndpoint[], version: number): Catalogue {
  const endpoints = items.map(({ endpoint }) => endpoint);
  const currency = (code: string, perEur: string) => ({
    code,
    name: code,
    symbol: code,
    decimals: 2,
    perEur: decimal(perEur),
    rateDate: "",
    rateSource: "",
  });
  const snapshot: CatalogueSnapshot = {
    version: String(version),
    builtAtMs: 0,
    creators: new Map(),
    families: new Map(),
    models: new Map(models.map((model) => [model.id, model])),
    providers: new Map(),
    endpoints: new Map(endpoints.map((endpoint) => [endpoint.id, endpoint])),
    modelNames: new Map(),
    endpointsByModel: Map.groupBy(endpoints, ({ model }) => model),
    currencies: new Map([
      ["EUR", currency("EUR", "1")],
      ["USD", currency("USD", "1.25")],
    ]),
    capabilities: new Map(),
  };
  return {
    snapshot,
    endpoints: new Map(items.map((item) => [item.endpoint.id, item])),
    byAddress: new Map(items.map(({ endpoint, address }) => [address, endpoint.id])),
  };
}

/** The next edition: corrected facts, new prices, endpoints that left, retired or moved. */
export function revised(catalogue: Catalogue, chance: Chance): Catalogue {
  const models = [...catalogue.snapshot.models.values()].map((model) =>
    chance.is(0.1) ? { ...model, quality: chance.is(0.5) ? null : qualityOf(chance.between(1, 9) / 10) } : model,
  );
  const endpoints = [...catalogue.endpoints.values()].flatMap((item) => {
    if (chance.is(0.55)) return [item];
    return chance.is(0.1) ? [] : [reviseEndpoint(item, chance)];
  });
  return catalogueOf(models, endpoints, Number(catalogue.snapshot.version) + 1);
}

function reviseEndpoint(item: CataloguedEndpoint, chance: Chance): CataloguedEndpoint {
  const { endpoint, price } = item;
  if (chance.is(0.1)) return { ...item, endpoint: { ...endpoint, status: "retired" } };
  if (chance.is(0.2)) {
    const dearer = drawPrice(chance);
    return { ...item, price: dearer, endpoint: { ...endpoint, prices: [priceRow(dearer)] } };
  }
  if (chance.is(0.2)) {
    const moved = drawEndpoint(chance, endpoint.provider, endpoint.model, endpoint.region);
    return { ...moved, price, endpoint: { ...moved.endpoint, prices: endpoint.prices } };
  }
  return { ...item, endpoint: { ...endpoint, sovereignty: drawFacts(chance) } };
}

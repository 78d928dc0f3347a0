import type { Surface } from "../record/record.ts";
import { isChatLike } from "../record/request-shape.ts";
import { type CatalogueSnapshot, type Endpoint, type Price, type ProviderConnections, priceAt } from "./catalogue.ts";
import { isPricedForImages } from "./image-price.ts";
import { needsProof, type ProofLookup } from "./proofs.ts";

export type CallabilityContext = {
  readonly snapshot: Pick<CatalogueSnapshot, "currencies">;
  readonly connections: ProviderConnections;
  readonly proofs: Pick<ProofLookup, "isProven">;
  readonly walletCurrency: string;
  readonly nowMs: number;
};

/** The endpoint can be called at this base URL and price. */
export type CallableEndpoint = { readonly is: "callable"; readonly price: Price; readonly baseUrl: string };

export type UncallableReason =
  | "retired"
  | "surface_not_served"
  | "no_dialect"
  | "no_interface"
  | "not_connected"
  | "no_base_url"
  | "no_price"
  | "no_exchange_rate"
  | "not_proven";

/** `reason` is a clause for operators, without a full stop and without secrets. */
export type UncallableEndpoint = {
  readonly is: "not_callable";
  readonly why: UncallableReason;
  readonly reason: string;
};

export type Callability = CallableEndpoint | UncallableEndpoint;

/** Messages and responses are served by chat endpoints. */
export function servesSurface(surfaces: readonly Surface[], surface: Surface): boolean {
  return surfaces.includes(isChatLike(surface) ? "chat" : surface) || surfaces.includes(surface);
}

/** Returns the first reason that makes the endpoint uncallable. */
export function checkCallability(endpoint: Endpoint, surface: Surface, context: CallabilityContext): Callability {
  const { id, provider } = endpoint;
  if (endpoint.status === "retired") return uncallable("retired", `${id} is retired`);
  if (!servesSurface(endpoint.surfaces, surface))
    return uncallable("surface_not_served", `${id} does not serve ${surface}`);
  if (isChatLike(surface) && endpoint.dialects.length === 0 && !endpoint.responsesApi)
    return uncallable("no_dialect", `${id} has no dialect that the gateway supports`);
  if (!hasInterface(endpoint, surface))
    return uncallable("no_interface", `${id} has no known interface for ${surface}`);
  if (context.connections.credential(provider) === undefined)
    return uncallable("not_connected", `provider ${provider} is not connected`);
  const baseUrl = context.connections.baseUrl(endpoint);
  if (baseUrl === undefined || baseUrl.includes("{"))
    return uncallable("no_base_url", `the base URL of provider ${provider} (${endpoint.region}) is unknown`);
  const price = priceAt(endpoint, context.nowMs);
  if (price === undefined || !isPricedFor(price, surface))
    return uncallable("no_price", `the price of ${id} on ${surface} is unknown`);
  if (!hasExchangeRate(context, price.currency))
    return uncallable(
      "no_exchange_rate",
      `there is no exchange rate from ${price.currency} to ${context.walletCurrency}`,
    );
  const proven = provenSurface(endpoint, surface);
  if (needsProof(proven) && !context.proofs.isProven(endpoint, proven, context.nowMs))
    return uncallable(
      "not_proven",
      `${id} has no valid proof on ${proven} (the operator can run \`gateway probe --endpoint ${id}\`)`,
    );
  return { is: "callable", price, baseUrl };
}

/** A decision model moderates over its decisions interface. */
function provenSurface({ moderations }: Endpoint, surface: Surface): Surface {
  return surface === "moderations" && moderations?.interface === "decisions" ? "decisions" : surface;
}

/** The wire format of a surface is a catalogue fact and is never guessed. */
function hasInterface(endpoint: Endpoint, surface: Surface): boolean {
  switch (surface) {
    case "embeddings":
    case "images":
    case "moderations":
    case "rerank":
    case "speech":
    case "transcriptions":
      return endpoint[surface] !== null;
    case "decisions":
      return endpoint.decisionsInterface !== null;
    default:
      return true;
  }
}

function uncallable(why: UncallableReason, reason: string): UncallableEndpoint {
  return { is: "not_callable", why, reason };
}

function hasExchangeRate({ snapshot, walletCurrency }: CallabilityContext, currency: string): boolean {
  return currency === walletCurrency || (snapshot.currencies.has(currency) && snapshot.currencies.has(walletCurrency));
}

/** A surface needs a price for every unit that it is billed in; a missing one would make usage free. */
export function isPricedFor(price: Price, surface: Surface): boolean {
  const { inputPer1mTokens: input, outputPer1mTokens: output } = price;
  switch (surface) {
    case "chat":
    case "messages":
    case "responses":
    case "gemini":
      return input !== null && output !== null;
    case "embeddings":
      return input !== null;
    case "rerank":
      return input !== null || price.per1kSearchUnits != null;
    case "transcriptions":
      return (
        price.perMinuteAudio !== null || ((price.audioInputPer1mTokens !== null || input !== null) && output !== null)
      );
    case "speech":
      return (
        price.per1mCharacters !== null ||
        price.perMinuteAudio !== null ||
        (input !== null && (price.audioOutputPer1mTokens !== null || output !== null))
      );
    case "images":
      return isPricedForImages(price);
    case "moderations":
    case "decisions":
      return input !== null || price.perRequest !== null;
  }
}

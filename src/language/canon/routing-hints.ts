import type { WishFields } from "../../contract/schemas/routing-hints.ts";

/** Preferences of the caller for the gateway itself. They never reach a provider and can only tighten a policy. */
export type RoutingHints = {
  readonly provider?: ProviderPreferences;
  readonly sessionId?: string;
  readonly costTier?: CostTier;
  /** Turns that the caller still expects in this conversation. */
  readonly remainingTurns?: number;
  /** They only tighten the rules of the policy. */
  readonly dataClasses?: NonNullable<WishFields["data_classes"]>;
  readonly cache?: CacheHint;
};

/** A request's own wish for the response cache. A lifetime of zero: not for this request. */
export type CacheHint = { readonly ttlSeconds?: number; readonly coalesce?: boolean };

export type CostTier = "low" | "medium" | "high";
export type ProviderSort = "price" | "throughput" | "latency";

/** Providers are named by slug, `slug/region` or endpoint id. */
export type ProviderPreferences = {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  /** False: only the first candidate is attempted. */
  readonly allowFallbacks?: boolean;
  /** `deny` excludes providers that train on data. */
  readonly dataCollection?: "allow" | "deny";
  readonly zeroDataRetention?: boolean;
  readonly maxPrice?: MaxPrice;
  readonly sort?: ProviderSort;
};

/** US dollars per million tokens; `request` per request, `image` per image. */
type MaxPrice = {
  readonly prompt?: number;
  readonly completion?: number;
  readonly request?: number;
  readonly image?: number;
};

/** Accepted on every surface and removed before a request goes upstream. */
export const ROUTING_HINT_FIELDS = [
  "provider",
  "session_id",
  "cost_tier",
  "remaining_turns",
  "data_classes",
  "cache",
] as const satisfies readonly (keyof WishFields)[];

/** Undefined if the caller sent none. */
export function decodeRoutingHints({
  provider,
  session_id,
  cost_tier,
  remaining_turns,
  data_classes,
  cache,
}: WishFields): RoutingHints | undefined {
  const fields = [provider, session_id, cost_tier, remaining_turns, data_classes, cache];
  if (fields.every((field) => field == null)) return undefined;
  return {
    ...(provider == null ? {} : { provider: decodePreferences(provider) }),
    ...(session_id == null ? {} : { sessionId: session_id }),
    ...(cost_tier == null ? {} : { costTier: cost_tier }),
    ...(remaining_turns == null ? {} : { remainingTurns: remaining_turns }),
    ...(data_classes == null ? {} : { dataClasses: data_classes }),
    ...(cache == null ? {} : { cache: decodeCacheHint(cache) }),
  };
}

function decodeCacheHint({ ttl, coalesce }: NonNullable<WishFields["cache"]>): CacheHint {
  return {
    ...(ttl == null ? {} : { ttlSeconds: ttl }),
    ...(coalesce == null ? {} : { coalesce }),
  };
}

/** `require_parameters` is ignored: the gateway always requires them. */
function decodePreferences(wire: NonNullable<WishFields["provider"]>): ProviderPreferences {
  const { only, ignore, order, allow_fallbacks, data_collection, zdr, max_price, sort } = wire;
  return {
    ...(only == null ? {} : { only }),
    ...(ignore == null ? {} : { ignore }),
    ...(order == null ? {} : { order }),
    ...(allow_fallbacks == null ? {} : { allowFallbacks: allow_fallbacks }),
    ...(data_collection == null ? {} : { dataCollection: data_collection }),
    ...(zdr == null ? {} : { zeroDataRetention: zdr }),
    ...(max_price == null ? {} : { maxPrice: decodeMaxPrice(max_price) }),
    ...(sort == null ? {} : { sort }),
  };
}

type WireMaxPrice = NonNullable<NonNullable<WishFields["provider"]>["max_price"]>;

function decodeMaxPrice({ prompt, completion, request, image }: WireMaxPrice): MaxPrice {
  return {
    ...(prompt == null ? {} : { prompt: Number(prompt) }),
    ...(completion == null ? {} : { completion: Number(completion) }),
    ...(request == null ? {} : { request: Number(request) }),
    ...(image == null ? {} : { image: Number(image) }),
  };
}

import type { WishFields } from "../../contract/schemas/wishes.ts";

/** What a caller asks of the gateway itself: none of it goes to a provider, and none of it can loosen a policy. */
export type RoutingHints = {
  readonly provider?: ProviderPreferences;
  readonly sessionId?: string;
  readonly costTier?: CostTier;
  /** How many further turns the caller expects of this conversation. */
  readonly remainingTurns?: number;
};

export type CostTier = "low" | "medium" | "high";
export type ProviderSort = "price" | "throughput" | "latency";

/** Names of providers are slugs; `slug/region` and the id of an endpoint are taken as well. */
export type ProviderPreferences = {
  readonly only?: readonly string[];
  readonly ignore?: readonly string[];
  readonly order?: readonly string[];
  /** False: only the first choice is tried. */
  readonly allowFallbacks?: boolean;
  /** `deny`: nobody who trains on data. */
  readonly dataCollection?: "allow" | "deny";
  readonly zeroDataRetention?: boolean;
  readonly maxPrice?: MaxPrice;
  readonly sort?: ProviderSort;
};

/** US dollars per million tokens; `request` per request, `image` per image. */
export type MaxPrice = {
  readonly prompt?: number;
  readonly completion?: number;
  readonly request?: number;
  readonly image?: number;
};

/** The fields that carry wishes: every surface takes them, and no provider is sent them. */
export const ROUTING_HINT_FIELDS = [
  "provider",
  "session_id",
  "cost_tier",
  "remaining_turns",
] as const satisfies readonly (keyof WishFields)[];

/** Undefined when the caller wishes nothing. */
export function decodeRoutingHints({
  provider,
  session_id,
  cost_tier,
  remaining_turns,
}: WishFields): RoutingHints | undefined {
  if (provider == null && session_id == null && cost_tier == null && remaining_turns == null) return undefined;
  return {
    ...(provider == null ? {} : { provider: decodePreferences(provider) }),
    ...(session_id == null ? {} : { sessionId: session_id }),
    ...(cost_tier == null ? {} : { costTier: cost_tier }),
    ...(remaining_turns == null ? {} : { remainingTurns: remaining_turns }),
  };
}

/** `require_parameters` asks for what is always so. */
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

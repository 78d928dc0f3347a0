/** What a caller asks of the gateway itself: none of it goes to a provider, and none of it can loosen a policy. */
export type Wishes = {
  readonly provider?: ProviderPreferences;
  readonly sessionId?: string;
  readonly costTier?: CostTier;
  /** How many further turns the caller expects of this conversation. */
  readonly remainingTurns?: number;
};

export const COST_TIERS = ["low", "medium", "high"] as const;
export type CostTier = (typeof COST_TIERS)[number];

export const SORTS = ["price", "throughput", "latency"] as const;
export type Sort = (typeof SORTS)[number];

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
  readonly sort?: Sort;
};

/** US dollars per million tokens; `request` per request, `image` per image. */
export type MaxPrice = {
  readonly prompt?: number;
  readonly completion?: number;
  readonly request?: number;
  readonly image?: number;
};

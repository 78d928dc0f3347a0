/**
 * What a provider bills apart from tokens, or at other prices for tokens, because a request asks for it. The names are
 * those of price rows in the catalogue.
 */
export const EXTRAS = [
  "web_search",
  "web_fetch",
  "file_search",
  "code_execution",
  "image_generation",
  "hosted_tool",
  "hosted_container",
  "service_tier_priority",
  "service_tier_flex",
  "service_tier_other",
  "fast_mode",
  "inference_geo",
  "other_models",
] as const;
export type BillableExtraName = (typeof EXTRAS)[number];

/** One of them, as a request asks for it. */
export type BillableExtra = {
  readonly name: BillableExtraName;
  /** The field that asks, by its path. */
  readonly field: string;
  /** The most uses, where the request states it. */
  readonly usesMax?: number;
  /** `said`: also where the request is translated; `native`: only to an endpoint of the caller's own dialect. */
  readonly forwarding: "said" | "native";
  /** It is never dearer than the usual price, which is taken where it has none of its own. */
  readonly isCheaper?: true;
  /** The place in `tools` of one that is only offered, so that it can be left out. */
  readonly toolIndex?: number;
};

export const NO_EXTRAS: readonly BillableExtra[] = [];

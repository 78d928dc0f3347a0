/**
 * Features that a provider bills separately from tokens, or that change the token price. The names match the price
 * rows in the catalogue.
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

/** A billable extra that a request asks for. */
export type BillableExtra = {
  readonly name: BillableExtraName;
  /** Path of the requesting field. */
  readonly field: string;
  /** Upper limit of uses, if the request states one. */
  readonly usesMax?: number;
  /** `translated`: kept in translation; `native`: sent only to endpoints of the caller's dialect. */
  readonly forwarding: "translated" | "native";
  /** Never costs more than the standard price, which applies if the extra has no price row. */
  readonly isCheaper?: true;
  /** Index in `tools` of an optional tool, which may be dropped. */
  readonly toolIndex?: number;
};

export const NO_EXTRAS: readonly BillableExtra[] = [];

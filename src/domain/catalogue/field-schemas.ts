import { z } from "zod";
import { LEVELS } from "../tenancy/policy.ts";

/** Field schemas shared by both file layouts; each error says what to write. */
export const text = z.string().trim().min(1, "must not be empty");
export const slug = z.string().regex(/^[a-z0-9][a-z0-9._-]*$/, "must be lowercase letters, digits, '.', '_' or '-'");
/** Part of an environment variable name, so only letters, digits and hyphens. */
export const settingSlug = z.string().regex(/^[a-z0-9][a-z0-9-]*$/, "must be lowercase letters, digits or '-'");
export const modelId = z
  .string()
  .regex(/^[a-z0-9][a-z0-9._-]*\/[a-z0-9][a-z0-9._:-]*$/, "must be creator/name in lowercase");
/** Routers, nodes and simulated models keep their own names. */
export const modelAlias = z
  .string()
  .max(128)
  .regex(
    /^(?!auto$|node\/|sandbox\/)[A-Za-z0-9][A-Za-z0-9._:@/-]*$/,
    "must be letters, digits, '.', '_', ':', '@', '/' or '-', and not auto, node/… or sandbox/…",
  );
export const country = z.string().regex(/^[A-Z]{2}$/, "must be an ISO 3166-1 alpha-2 country code such as DE");
export const currencyCode = z.string().regex(/^[A-Z]{3}$/, "must be an ISO 4217 currency code such as EUR");
export const day = z.iso.date("must be a date such as 2026-11-15");
export const dayOrMonth = z
  .string()
  .regex(/^\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?$/, "must be a date such as 2026-11-15 or 2026-11");
export const webAddress = z.string().regex(/^https?:\/\/\S+$/, "must be an http or https URL");
export const level = z.enum([...LEVELS, "UNCLASSIFIED"]);
export const yesNo = z.enum(["yes", "no", "unknown"]);
export const count = z.int("must be a whole number").positive("must be above zero");

const PRICE_MESSAGE = "must be a price: a number or a decimal string, zero or more";
/** A string preserves more digits than a JSON number. */
export const amount = z.union(
  [z.number().nonnegative(PRICE_MESSAGE), z.string().regex(/^\d{1,15}(\.\d{1,18})?$/, PRICE_MESSAGE)],
  PRICE_MESSAGE,
);

export const tokenPriceFields = {
  input_per_1m_tokens: amount.optional(),
  output_per_1m_tokens: amount.optional(),
  cached_read_per_1m_tokens: amount.optional(),
  cache_write_per_1m_tokens: amount.optional(),
  cache_write_1h_per_1m_tokens: amount.optional(),
  reasoning_per_1m_tokens: amount.optional(),
  audio_input_per_1m_tokens: amount.optional(),
  audio_output_per_1m_tokens: amount.optional(),
};
export const priceFields = {
  ...tokenPriceFields,
  image_input_per_1m_tokens: amount.optional(),
  image_output_per_1m_tokens: amount.optional(),
  per_1m_characters: amount.optional(),
  per_minute_audio: amount.optional(),
  per_image: amount.optional(),
  per_request: amount.optional(),
  per_1k_search_units: amount.optional(),
};
export const PRICE_FIELDS = [
  "input_per_1m_tokens",
  "output_per_1m_tokens",
  "cached_read_per_1m_tokens",
  "cache_write_per_1m_tokens",
  "cache_write_1h_per_1m_tokens",
  "reasoning_per_1m_tokens",
  "audio_input_per_1m_tokens",
  "audio_output_per_1m_tokens",
  "image_input_per_1m_tokens",
  "image_output_per_1m_tokens",
  "per_1m_characters",
  "per_minute_audio",
  "per_image",
  "per_request",
  "per_1k_search_units",
] as const satisfies readonly (keyof typeof priceFields)[];

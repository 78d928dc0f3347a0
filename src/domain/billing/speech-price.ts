import type { AudioFormat } from "../../language/audio/meter.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { SpeechSupport } from "../catalogue/speech-support.ts";
import type { Surface } from "../record/record.ts";

/** Speech is billed by one unit: the first of these that has a price. */
export type SpeechUnit = "characters" | "seconds" | "tokens";

export function speechUnit(price: Price): SpeechUnit {
  if (price.per1mCharacters !== null) return "characters";
  return price.perMinuteAudio !== null ? "seconds" : "tokens";
}

const NO_TOKENS = {
  inputPer1mTokens: null,
  outputPer1mTokens: null,
  cachedReadPer1mTokens: null,
  cacheWritePer1mTokens: null,
  cacheWrite1hPer1mTokens: null,
  reasoningPer1mTokens: null,
  audioInputPer1mTokens: null,
  audioOutputPer1mTokens: null,
  tiers: [],
} as const;

// Price rows of a snapshot are frozen, so derived rows can be cached.
const derived = new WeakMap<Price, Price>();

/**
 * The price row of speech: one unit, and the price per request if there is one. It is recorded with the charge, so that the
 * usage can list characters, seconds and tokens.
 */
export function speechPrice(price: Price): Price {
  const known = derived.get(price);
  if (known !== undefined) return known;
  const unit = speechUnit(price);
  const row: Price = {
    ...price,
    ...(unit === "tokens" ? {} : NO_TOKENS),
    per1mCharacters: unit === "characters" ? price.per1mCharacters : null,
    perMinuteAudio: unit === "seconds" ? price.perMinuteAudio : null,
  };
  derived.set(price, row);
  return row;
}

/** The part of a price row that applies to a surface. */
export function billedPrice(price: Price, surface: Surface): Price {
  return surface === "speech" ? speechPrice(price) : price;
}

/** Formats whose duration cannot be measured are not offered at a price per second. */
export function speechFormats({ formats }: SpeechSupport, price: Price): readonly AudioFormat[] {
  return speechUnit(price) === "seconds" ? formats.filter((format) => format !== "aac") : formats;
}

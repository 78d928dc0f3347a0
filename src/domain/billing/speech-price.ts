import type { AudioFormat } from "../../language/audio/meter.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { SpeechSupport } from "../catalogue/speech-support.ts";
import type { Surface } from "../record/record.ts";

/** The units that speech is billed by; of those that are priced the first one applies, alone. */
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

// Rows of a snapshot are frozen, so what is made of one is made once.
const spoken = new WeakMap<Price, Price>();

/**
 * The row as speech is billed by it: the figures of one unit, and the price of the request itself where there is one.
 * It is what is written beside the charge, so that characters, seconds and tokens can all stand in the usage.
 */
export function speechPrice(price: Price): Price {
  const known = spoken.get(price);
  if (known !== undefined) return known;
  const unit = speechUnit(price);
  const row: Price = {
    ...price,
    ...(unit === "tokens" ? {} : NO_TOKENS),
    per1mCharacters: unit === "characters" ? price.per1mCharacters : null,
    perMinuteAudio: unit === "seconds" ? price.perMinuteAudio : null,
  };
  spoken.set(price, row);
  return row;
}

/** What a request on a surface is billed by of a price row. */
export function billedPrice(price: Price, surface: Surface): Price {
  return surface === "speech" ? speechPrice(price) : price;
}

/** The formats that an endpoint can be asked for: one whose length nobody can measure is not billed by the second. */
export function speechFormats({ formats }: SpeechSupport, price: Price): readonly AudioFormat[] {
  return speechUnit(price) === "seconds" ? formats.filter((format) => format !== "aac") : formats;
}

import type { PriceView } from "../../../../src/contract/schemas/catalogue-values.ts";

type Figures = { [K in keyof PriceView as PriceView[K] extends string | null ? K : never]: PriceView[K] };
type FigureName = Exclude<keyof Figures, "currency" | "from">;

export type Unit = { readonly name: FigureName; readonly label: string; readonly per: string };

/** All price units in display order. */
const UNITS: readonly Unit[] = [
  { name: "input_per_1m_tokens", label: "Input", per: "1M tokens" },
  { name: "output_per_1m_tokens", label: "Output", per: "1M tokens" },
  { name: "cached_read_per_1m_tokens", label: "Cached input", per: "1M tokens" },
  { name: "cache_write_per_1m_tokens", label: "Cache write", per: "1M tokens" },
  { name: "cache_write_1h_per_1m_tokens", label: "Cache write, 1 hour", per: "1M tokens" },
  { name: "reasoning_per_1m_tokens", label: "Reasoning", per: "1M tokens" },
  { name: "audio_input_per_1m_tokens", label: "Audio input", per: "1M tokens" },
  { name: "audio_output_per_1m_tokens", label: "Audio output", per: "1M tokens" },
  { name: "per_1m_characters", label: "Characters", per: "1M characters" },
  { name: "per_minute_audio", label: "Audio", per: "minute" },
  { name: "per_image", label: "Image", per: "image" },
  { name: "per_request", label: "Request", per: "request" },
  { name: "per_1k_search_units", label: "Search units", per: "1K search units" },
];

export function statedUnits(price: PriceView): readonly (Unit & { readonly amount: string })[] {
  return UNITS.flatMap((unit) => {
    const amount = price[unit.name];
    return amount === null ? [] : [{ ...unit, amount }];
  });
}

/** The one or two prices that fit into a list. */
export function mainUnits(price: PriceView): readonly (Unit & { readonly amount: string })[] {
  const stated = statedUnits(price);
  const tokens = stated.filter(({ name }) => name === "input_per_1m_tokens" || name === "output_per_1m_tokens");
  return tokens.length > 0 ? tokens : stated.slice(0, 1);
}

/** The sort key for endpoints of one model; undefined without a price. */
export function sortAmount(price: PriceView | null): number | undefined {
  if (price === null) return undefined;
  const units = mainUnits(price);
  return units.length === 0 ? undefined : units.reduce((sum, { amount }) => sum + Number(amount), 0);
}

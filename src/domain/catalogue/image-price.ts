import type { Decimal } from "../../kit/money.ts";
import type { Price } from "./catalogue.ts";

/** What the price of an image depends on; undefined: the endpoint's default, which the gateway does not know. */
export type ImageClass = { readonly size: string | undefined; readonly quality: string | undefined };

/** Images are billed by number, by tokens, or by both. */
export function isPricedForImages(price: Price): boolean {
  return price.perImage != null || price.imagePrices !== undefined || isPricedByTokens(price);
}

/** A price for text alone would make images as cheap as text. */
export function isPricedByTokens({ inputPer1mTokens, imageOutputPer1mTokens }: Price): boolean {
  return inputPer1mTokens !== null && imageOutputPer1mTokens != null;
}

// Price rows of a snapshot are frozen, so derived rows can be cached.
const derived = new WeakMap<Price, Map<Decimal, Price>>();

/** The row with the price of an image of this class; undefined: it has none. */
export function imagePriceFor(price: Price, { size, quality }: ImageClass): Price | undefined {
  const { imagePrices, ...others } = price;
  if (imagePrices === undefined) return price;
  const found = imagePrices.find(
    (row) => (row.size === null || row.size === size) && (row.quality === null || row.quality === quality),
  );
  if (found === undefined) return price.perImage != null || isPricedByTokens(price) ? others : undefined;
  const known = derived.get(price) ?? new Map<Decimal, Price>();
  derived.set(price, known);
  const row = known.get(found.perImage) ?? { ...others, perImage: found.perImage };
  known.set(found.perImage, row);
  return row;
}

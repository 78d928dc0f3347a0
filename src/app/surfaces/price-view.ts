import { CONVERTED_PLACES, type PriceView } from "../../contract/schemas/catalogue-values.ts";
import { type ExchangeRate, rateBetween } from "../../domain/billing/charge.ts";
import { type Margin, NO_MARGIN, withMargin } from "../../domain/billing/margin.ts";
import type { CatalogueSnapshot, Price } from "../../domain/catalogue/catalogue.ts";
import { type Decimal, divideHalfUp, formatDecimal } from "../../kit/money.ts";

export type PriceContext = {
  readonly snapshot: CatalogueSnapshot;
  /** Undefined: the provider's listed currency. */
  readonly currency: string | undefined;
  /** Margin on provider prices; absent: none. */
  readonly margin?: Margin;
};

/** A price row in the requested currency; converted amounts are rounded once. */
export function priceView(price: Price, context: PriceContext): PriceView {
  const { snapshot, currency = price.currency, margin = NO_MARGIN } = context;
  const rate = rateBetween(snapshot.currencies, price.currency, currency);
  // Without an exchange rate the listed amounts are formatted.
  if (rate === undefined) return priceView(price, { ...context, currency: undefined });
  const formatted = (amount: Decimal | null | undefined) =>
    amount == null ? null : formatDecimal(converted(withMargin(amount, margin), rate));
  return {
    currency,
    from: price.from,
    input_per_1m_tokens: formatted(price.inputPer1mTokens),
    output_per_1m_tokens: formatted(price.outputPer1mTokens),
    cached_read_per_1m_tokens: formatted(price.cachedReadPer1mTokens),
    cache_write_per_1m_tokens: formatted(price.cacheWritePer1mTokens),
    cache_write_1h_per_1m_tokens: formatted(price.cacheWrite1hPer1mTokens),
    reasoning_per_1m_tokens: formatted(price.reasoningPer1mTokens),
    audio_input_per_1m_tokens: formatted(price.audioInputPer1mTokens),
    audio_output_per_1m_tokens: formatted(price.audioOutputPer1mTokens),
    image_input_per_1m_tokens: formatted(price.imageInputPer1mTokens),
    image_output_per_1m_tokens: formatted(price.imageOutputPer1mTokens),
    per_1m_characters: formatted(price.per1mCharacters),
    per_minute_audio: formatted(price.perMinuteAudio),
    per_image: formatted(price.perImage),
    per_request: formatted(price.perRequest),
    per_1k_search_units: formatted(price.per1kSearchUnits),
    ...(price.imagePrices === undefined
      ? {}
      : {
          image_prices: price.imagePrices.map(({ size, quality, perImage }) => ({
            size,
            quality,
            per_image: formatDecimal(converted(withMargin(perImage, margin), rate)),
          })),
        }),
    tiers: price.tiers.map((tier) => ({
      above_input_tokens: tier.aboveInputTokens,
      input_per_1m_tokens: formatted(tier.inputPer1mTokens),
      output_per_1m_tokens: formatted(tier.outputPer1mTokens),
      cached_read_per_1m_tokens: formatted(tier.cachedReadPer1mTokens),
    })),
    ...(margin === NO_MARGIN ? {} : { margin: margin.share }),
    converted: rate.record === null ? null : conversion(price.currency, currency, rate, snapshot),
  };
}

function converted(amount: Decimal, rate: ExchangeRate): Decimal {
  if (rate.record === null) return amount;
  const digits = divideHalfUp(
    amount.digits * rate.numerator * 10n ** BigInt(CONVERTED_PLACES),
    rate.denominator * 10n ** BigInt(amount.scale),
  );
  return { digits, scale: CONVERTED_PLACES };
}

function conversion(from: string, to: string, rate: ExchangeRate, snapshot: CatalogueSnapshot): PriceView["converted"] {
  const dates = [from, to].map((code) => snapshot.currencies.get(code)?.rateDate ?? "").toSorted();
  return {
    from,
    rate: formatDecimal(converted({ digits: 1n, scale: 0 }, rate)),
    rate_date: dates[0] ?? "",
  };
}

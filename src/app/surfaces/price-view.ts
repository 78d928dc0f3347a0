import { CONVERTED_PLACES, type PriceView } from "../../contract/schemas/catalogue-values.ts";
import { type ExchangeRate, rateBetween } from "../../domain/billing/exchange-rate.ts";
import { type Margin, NO_MARGIN, withMargin } from "../../domain/billing/margin.ts";
import type { CatalogueSnapshot, Price } from "../../domain/catalogue/catalogue.ts";
import { type Decimal, divideHalfUp, formatDecimal } from "../../kit/money.ts";

export type PriceContext = {
  readonly snapshot: CatalogueSnapshot;
  /** Undefined shows every price as its provider lists it. */
  readonly currency: string | undefined;
  /** What is added to providers' prices; absent: nothing. */
  readonly margin?: Margin;
};

/** A price row in the asked currency, exact where it is listed in it, else rounded once per figure. */
export function priceView(price: Price, context: PriceContext): PriceView {
  const { snapshot, currency = price.currency, margin = NO_MARGIN } = context;
  const rate = rateBetween(snapshot.currencies, price.currency, currency);
  // Without a rate the listed figures are the only true ones.
  if (rate === undefined) return priceView(price, { ...context, currency: undefined });
  const shown = (figure: Decimal | null | undefined) =>
    figure == null ? null : formatDecimal(converted(withMargin(figure, margin), rate));
  return {
    currency,
    from: price.from,
    input_per_1m_tokens: shown(price.inputPer1mTokens),
    output_per_1m_tokens: shown(price.outputPer1mTokens),
    cached_read_per_1m_tokens: shown(price.cachedReadPer1mTokens),
    cache_write_per_1m_tokens: shown(price.cacheWritePer1mTokens),
    cache_write_1h_per_1m_tokens: shown(price.cacheWrite1hPer1mTokens),
    reasoning_per_1m_tokens: shown(price.reasoningPer1mTokens),
    audio_input_per_1m_tokens: shown(price.audioInputPer1mTokens),
    audio_output_per_1m_tokens: shown(price.audioOutputPer1mTokens),
    per_1m_characters: shown(price.per1mCharacters),
    per_minute_audio: shown(price.perMinuteAudio),
    per_image: shown(price.perImage),
    per_request: shown(price.perRequest),
    tiers: price.tiers.map((tier) => ({
      above_input_tokens: tier.aboveInputTokens,
      input_per_1m_tokens: shown(tier.inputPer1mTokens),
      output_per_1m_tokens: shown(tier.outputPer1mTokens),
      cached_read_per_1m_tokens: shown(tier.cachedReadPer1mTokens),
    })),
    ...(margin === NO_MARGIN ? {} : { margin: margin.share }),
    converted: rate.record === null ? null : conversion(price.currency, currency, rate, snapshot),
  };
}

function converted(figure: Decimal, rate: ExchangeRate): Decimal {
  if (rate.record === null) return figure;
  const digits = divideHalfUp(
    figure.digits * rate.numerator * 10n ** BigInt(CONVERTED_PLACES),
    rate.denominator * 10n ** BigInt(figure.scale),
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

import type { Decimal } from "../../kit/money.ts";
import type { CatalogueSnapshot, Price } from "../catalogue/catalogue.ts";

/** A price in nano-units of a wallet as floating point, for comparisons only. Charges are computed exactly, in billing. */
export type UnitRates = TokenRates & {
  readonly perRequest: number;
  /** Rates for larger contexts, in ascending order. */
  readonly tiers: readonly (TokenRates & { readonly aboveInputTokens: number })[];
  /** Present when something other than text is priced. */
  readonly units?: {
    readonly perCharacter: number;
    /** Null when audio is not billed by duration. */
    readonly perSecond: number | null;
    readonly perAudioOutputToken: number;
    readonly perAudioInputToken: number;
    readonly perSearchUnit: number;
    readonly perImage: number;
    /** For prices that depend on the request. */
    readonly nanosPerUnit: number;
    readonly perImageOutputToken: number;
  };
};

/** Expected units on surfaces that are not billed by text tokens. */
export type ExpectedUnits = {
  readonly characters: number;
  readonly seconds: number;
  readonly audioOutputTokens: number;
  readonly imageOutputTokens?: number;
  readonly searchUnits?: number;
  readonly images?: number;
  /** For audio input; billed only when seconds are not. */
  readonly transcript?: { readonly audioInputTokens: number; readonly outputTokens: number };
};

/** Nano-units for one token. */
type TokenRates = { readonly input: number; readonly cachedRead: number; readonly output: number };

const NANOS_PER_UNIT = 1e9;
const PER_MILLION = 1e6;
const SECONDS_PER_MINUTE = 60;

function decimalToNumber({ digits, scale }: Decimal): number {
  return Number(digits) / 10 ** scale;
}

/** Undefined when there is no rate. */
export function exchangeRate(
  currencies: CatalogueSnapshot["currencies"],
  from: string,
  to: string,
): number | undefined {
  if (from === to) return 1;
  const source = currencies.get(from)?.perEur;
  const target = currencies.get(to)?.perEur;
  if (source === undefined || target === undefined) return undefined;
  return decimalToNumber(target) / decimalToNumber(source);
}

/** Undefined without an exchange rate: the endpoint cannot be called from this wallet. */
export function unitRates(
  price: Price,
  currencies: CatalogueSnapshot["currencies"],
  wallet: string,
): UnitRates | undefined {
  const rate = exchangeRate(currencies, price.currency, wallet);
  if (rate === undefined) return undefined;
  const perToken = (value: Decimal | null) =>
    value === null ? undefined : (decimalToNumber(value) * rate * NANOS_PER_UNIT) / PER_MILLION;
  const input = perToken(price.inputPer1mTokens) ?? 0;
  const output = perToken(price.outputPer1mTokens) ?? 0;
  const cachedRead = perToken(price.cachedReadPer1mTokens);
  const tiers = price.tiers
    .toSorted((a, b) => a.aboveInputTokens - b.aboveInputTokens)
    .map((tier) => {
      const tierInput = perToken(tier.inputPer1mTokens) ?? input;
      return {
        aboveInputTokens: tier.aboveInputTokens,
        input: tierInput,
        cachedRead: perToken(tier.cachedReadPer1mTokens) ?? cachedRead ?? tierInput,
        output: perToken(tier.outputPer1mTokens) ?? output,
      };
    });
  return {
    input,
    cachedRead: cachedRead ?? input,
    output,
    perRequest: price.perRequest === null ? 0 : decimalToNumber(price.perRequest) * rate * NANOS_PER_UNIT,
    tiers,
    ...nonTextRates(price, rate * NANOS_PER_UNIT),
  };
}

function nonTextRates(price: Price, nanosPerUnit: number): Pick<UnitRates, "units"> {
  const { per1mCharacters, perMinuteAudio, audioInputPer1mTokens, audioOutputPer1mTokens } = price;
  const { per1kSearchUnits = null, perImage = null, imageOutputPer1mTokens = null } = price;
  const audio = [perMinuteAudio, audioInputPer1mTokens, audioOutputPer1mTokens];
  const others = [
    ...audio,
    per1mCharacters,
    per1kSearchUnits,
    perImage,
    imageOutputPer1mTokens,
    price.imagePrices ?? null,
  ];
  if (others.every((unitPrice) => unitPrice === null)) return {};
  const nanos = (value: Decimal | null, times: number) =>
    value === null ? 0 : (decimalToNumber(value) * nanosPerUnit) / times;
  const perCharacter = nanos(per1mCharacters, PER_MILLION);
  const perSecond = perMinuteAudio === null ? null : nanos(perMinuteAudio, SECONDS_PER_MINUTE);
  const perAudioOutputToken = nanos(audioOutputPer1mTokens ?? price.outputPer1mTokens, PER_MILLION);
  const perAudioInputToken = nanos(audioInputPer1mTokens ?? price.inputPer1mTokens, PER_MILLION);
  const perSearchUnit = nanos(per1kSearchUnits, 1000);
  const images = {
    perImage: nanos(perImage, 1),
    nanosPerUnit,
    perImageOutputToken: nanos(imageOutputPer1mTokens ?? price.outputPer1mTokens, PER_MILLION),
  };
  return { units: { perCharacter, perSecond, perAudioOutputToken, perAudioInputToken, perSearchUnit, ...images } };
}

/** The part of the cost that is not text. */
export function expectedUnitNanos(rates: UnitRates, expected: ExpectedUnits): number {
  const { units } = rates;
  const { characters, seconds, audioOutputTokens, searchUnits = 0, images = 0, transcript } = expected;
  const transcriptCost = transcript === undefined ? 0 : transcriptNanos(rates, transcript);
  if (units === undefined) return transcriptCost;
  const durationCost = seconds * (units.perSecond ?? 0);
  const imageCost = images * units.perImage + (expected.imageOutputTokens ?? 0) * units.perImageOutputToken;
  const unitCost = characters * units.perCharacter + searchUnits * units.perSearchUnit + imageCost;
  return transcriptCost + unitCost + durationCost + audioOutputTokens * units.perAudioOutputToken;
}

function transcriptNanos(
  { units, input, output }: UnitRates,
  { audioInputTokens, outputTokens }: NonNullable<ExpectedUnits["transcript"]>,
): number {
  if (units !== undefined && units.perSecond !== null) return 0;
  return audioInputTokens * (units?.perAudioInputToken ?? input) + outputTokens * output;
}

/** The rates of the tier that this input size falls into. */
export function ratesFor(rates: UnitRates, inputTokens: number): TokenRates {
  if (rates.tiers.length === 0) return rates;
  let applicable: TokenRates = rates;
  for (const tier of rates.tiers) if (inputTokens > tier.aboveInputTokens) applicable = tier;
  return applicable;
}

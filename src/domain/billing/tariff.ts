import { type Decimal, formatDecimal, powerOfTen } from "../../kit/money.ts";
import type { Price, PriceTier } from "../catalogue/catalogue.ts";
import type { ChargeRecord } from "../record/record.ts";

/** Token rates of one context size, in `1 / scale` units of the price's currency per million tokens. */
export type TariffTokenRates = {
  readonly aboveInputTokens: number;
  readonly input: bigint;
  readonly cachedRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWrite1h: bigint;
  readonly audioInput: bigint;
  readonly output: bigint;
  readonly reasoning: bigint;
  readonly audioOutput: bigint;
  readonly imageInput: bigint;
  readonly imageOutput: bigint;
  /** The highest rate of each side; for input, with and without one-hour cache writes. */
  readonly highestInput: bigint;
  readonly highestInput1h: bigint;
  readonly highestOutput: bigint;
};

/** A price row for integer arithmetic: every decimal at one common scale. */
export type Tariff = {
  readonly scale: bigint;
  /** Smallest context first; the first entry is the base rate. */
  readonly tokens: readonly [TariffTokenRates, ...TariffTokenRates[]];
  readonly per1mCharacters: bigint;
  readonly perMinuteAudio: bigint;
  readonly perImage: bigint;
  readonly perRequest: bigint;
  readonly per1kSearchUnits: bigint;
  /** Surcharges by name; undefined without any. */
  readonly extras: ReadonlyMap<string, ExtraRates> | undefined;
  /** The row as it is recorded with a charge: decimals as text, without unset fields. */
  readonly record: ChargeRecord["price"];
};

/** `perUse` has the tariff's scale; token prices are multiplied by `numerator / denominator`. */
export type ExtraRates = {
  readonly perUse: bigint;
  readonly usesMax: number;
  readonly numerator: bigint;
  readonly denominator: bigint;
};

/** A negative or otherwise unusable price. */
export class ImpossiblePrice extends Error {
  constructor(reason: string) {
    super(`impossible price: ${reason}`);
    this.name = "ImpossiblePrice";
  }
}

/** For a declined decision, which pays for its input only: no output, and no price per request. */
export function inputOnlyPrice(price: Price): Price {
  const noOutput = {
    outputPer1mTokens: null,
    reasoningPer1mTokens: null,
    audioOutputPer1mTokens: null,
    imageOutputPer1mTokens: null,
  };
  return { ...price, ...noOutput, perRequest: null, tiers: price.tiers.map((tier) => ({ ...tier, ...noOutput })) };
}

export function buildTariff(price: Price): Tariff {
  const decimals = [price, ...price.tiers, ...Object.values(price.extras ?? {})].flatMap((row) => decimalsOf(row));
  for (const [name, value] of decimals) if (value.digits < 0n) throw new ImpossiblePrice(`${name} is negative`);
  const scale = Math.max(0, ...decimals.map(([, value]) => value.scale));
  const at = (value: Decimal | null | undefined) => (value == null ? undefined : digitsAtScale(value, scale));

  // A tier inherits unset rates from the row; those fall back to the plain rate of their side; without one they are free.
  const ratesOf = (aboveInputTokens: number, tier: Partial<PriceTier>): TariffTokenRates => {
    const rateOf = (name: TokenRateName) => at(tier[name]) ?? at(price[name]);
    const input = rateOf("inputPer1mTokens") ?? 0n;
    const output = rateOf("outputPer1mTokens") ?? 0n;
    const cacheWrite = rateOf("cacheWritePer1mTokens") ?? input;
    const rates = {
      aboveInputTokens,
      input,
      output,
      cachedRead: rateOf("cachedReadPer1mTokens") ?? input,
      cacheWrite,
      cacheWrite1h: rateOf("cacheWrite1hPer1mTokens") ?? cacheWrite,
      reasoning: rateOf("reasoningPer1mTokens") ?? output,
      audioInput: rateOf("audioInputPer1mTokens") ?? input,
      audioOutput: rateOf("audioOutputPer1mTokens") ?? output,
      imageInput: at(price.imageInputPer1mTokens) ?? input,
      imageOutput: at(price.imageOutputPer1mTokens) ?? output,
    };
    const highestInput = largest(input, rates.cachedRead, cacheWrite, rates.audioInput, rates.imageInput);
    const highestInput1h = largest(highestInput, rates.cacheWrite1h);
    const highestOutput = largest(output, rates.reasoning, rates.audioOutput, rates.imageOutput);
    return { ...rates, highestInput, highestInput1h, highestOutput };
  };
  const tiers = price.tiers
    .toSorted((a, b) => a.aboveInputTokens - b.aboveInputTokens)
    .map((tier) => ratesOf(tier.aboveInputTokens, tier));
  return {
    scale: powerOfTen(scale),
    tokens: [ratesOf(-1, {}), ...tiers],
    per1mCharacters: at(price.per1mCharacters) ?? 0n,
    perMinuteAudio: at(price.perMinuteAudio) ?? 0n,
    perImage: at(price.perImage) ?? 0n,
    perRequest: at(price.perRequest) ?? 0n,
    per1kSearchUnits: at(price.per1kSearchUnits) ?? 0n,
    extras: price.extras === undefined ? undefined : extraRates(price.extras, scale),
    record: recordOf(price),
  };
}

function largest(...values: readonly bigint[]): bigint {
  let largestValue = 0n;
  for (const value of values) if (value > largestValue) largestValue = value;
  return largestValue;
}

type TokenRateName = Exclude<keyof PriceTier, "aboveInputTokens">;

function extraRates(extras: NonNullable<Price["extras"]>, scale: number): ReadonlyMap<string, ExtraRates> {
  return new Map(
    Object.entries(extras).map(([name, { perUse, usesMax, times }]) => [
      name,
      {
        perUse: perUse === null ? 0n : digitsAtScale(perUse, scale),
        usesMax,
        numerator: times?.digits ?? 1n,
        denominator: times === null ? 1n : powerOfTen(times.scale),
      },
    ]),
  );
}

function decimalsOf(row: object): [string, Decimal][] {
  return Object.entries(row).filter((entry): entry is [string, Decimal] => isDecimal(entry[1]));
}

function isDecimal(value: unknown): value is Decimal {
  return typeof value === "object" && value !== null && "digits" in value && "scale" in value;
}

function recordOf(price: Price): ChargeRecord["price"] {
  const setFields = (row: object) =>
    Object.fromEntries(decimalsOf(row).map(([name, value]) => [name, formatDecimal(value)]));
  return Object.freeze({
    currency: price.currency,
    ...(price.from === null ? {} : { from: price.from }),
    ...setFields(price),
    ...(price.tiers.length === 0
      ? {}
      : { tiers: price.tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...setFields(tier) })) }),
    ...(price.extras === undefined
      ? {}
      : { extras: Object.fromEntries(Object.entries(price.extras).map(([name, extra]) => [name, setFields(extra)])) }),
  });
}

/** `scale` must not be smaller than that of the value. */
function digitsAtScale(value: Decimal, scale: number): bigint {
  return value.digits * powerOfTen(scale - value.scale);
}

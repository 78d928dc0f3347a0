import { type Decimal, formatDecimal } from "../../kit/money.ts";
import type { Price, PriceTier } from "../catalogue/catalogue.ts";
import type { ChargeRecord } from "../record/record.ts";
import { digitsAtScale, powerOfTen } from "./exchange-rate.ts";

/** Token rates of one context size, as integers of `1 / scale` units of the price's currency per million tokens. */
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
  /** The dearest of each side; of input, with a cache of an hour and without. */
  readonly dearestInput: bigint;
  readonly dearestInput1h: bigint;
  readonly dearestOutput: bigint;
};

/** A price row made ready for whole-number arithmetic: every decimal at one common scale. */
export type Tariff = {
  readonly scale: bigint;
  /** Smallest context first; the first row is the base. */
  readonly tokens: readonly [TariffTokenRates, ...TariffTokenRates[]];
  readonly per1mCharacters: bigint;
  readonly perMinuteAudio: bigint;
  readonly perImage: bigint;
  readonly perRequest: bigint;
  /** What is billed apart; undefined where nothing is. */
  readonly extras: ReadonlyMap<string, ExtraRates> | undefined;
  /** The row as it is written beside a charge: decimals as text, what is not stated left out. */
  readonly record: ChargeRecord["price"];
};

/** `perUse` at the tariff's scale; token prices are multiplied by `numerator / denominator`. */
export type ExtraRates = {
  readonly perUse: bigint;
  readonly usesMax: number;
  readonly numerator: bigint;
  readonly denominator: bigint;
};

/** A price that would create money or cannot be computed with. */
export class ImpossiblePrice extends Error {
  constructor(what: string) {
    super(`impossible price: ${what}`);
    this.name = "ImpossiblePrice";
  }
}

// Price rows are frozen parts of a snapshot, so what is derived from one stays right as long as the row lives.
const derived = new WeakMap<Price, Tariff>();

export function tariffOf(price: Price): Tariff {
  const known = derived.get(price);
  if (known !== undefined) return known;
  const tariff = buildTariff(price);
  derived.set(price, tariff);
  return tariff;
}

/** The same row for who read a request and would not answer it: no output, and nothing for the request itself. */
export function inputOnlyPrice(price: Price): Price {
  const noOutput = { outputPer1mTokens: null, reasoningPer1mTokens: null, audioOutputPer1mTokens: null };
  return { ...price, ...noOutput, perRequest: null, tiers: price.tiers.map((tier) => ({ ...tier, ...noOutput })) };
}

function buildTariff(price: Price): Tariff {
  const decimals = [price, ...price.tiers, ...Object.values(price.extras ?? {})].flatMap((row) => decimalsOf(row));
  for (const [name, value] of decimals) if (value.digits < 0n) throw new ImpossiblePrice(`${name} is negative`);
  const scale = Math.max(0, ...decimals.map(([, value]) => value.scale));
  const at = (value: Decimal | null | undefined) => (value == null ? undefined : digitsAtScale(value, scale));

  // What a tier does not state is as in the row; what that does not state falls back to the plain rate of its side; and
  // what has no plain rate is not priced.
  const ratesOf = (aboveInputTokens: number, tier: Partial<PriceTier>): TariffTokenRates => {
    const stated = (name: TokenFigure) => at(tier[name]) ?? at(price[name]);
    const input = stated("inputPer1mTokens") ?? 0n;
    const output = stated("outputPer1mTokens") ?? 0n;
    const cacheWrite = stated("cacheWritePer1mTokens") ?? input;
    const rates = {
      aboveInputTokens,
      input,
      output,
      cachedRead: stated("cachedReadPer1mTokens") ?? input,
      cacheWrite,
      cacheWrite1h: stated("cacheWrite1hPer1mTokens") ?? cacheWrite,
      reasoning: stated("reasoningPer1mTokens") ?? output,
      audioInput: stated("audioInputPer1mTokens") ?? input,
      audioOutput: stated("audioOutputPer1mTokens") ?? output,
    };
    const dearestInput = largest(input, rates.cachedRead, cacheWrite, rates.audioInput);
    const dearestInput1h = largest(dearestInput, rates.cacheWrite1h);
    const dearestOutput = largest(output, rates.reasoning, rates.audioOutput);
    return { ...rates, dearestInput, dearestInput1h, dearestOutput };
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
    extras: price.extras === undefined ? undefined : extraRates(price.extras, scale),
    record: recordOf(price),
  };
}

function largest(...values: readonly bigint[]): bigint {
  let most = 0n;
  for (const value of values) if (value > most) most = value;
  return most;
}

type TokenFigure = Exclude<keyof PriceTier, "aboveInputTokens">;

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
  const stated = (row: object) =>
    Object.fromEntries(decimalsOf(row).map(([name, value]) => [name, formatDecimal(value)]));
  return Object.freeze({
    currency: price.currency,
    ...(price.from === null ? {} : { from: price.from }),
    ...stated(price),
    ...(price.tiers.length === 0
      ? {}
      : { tiers: price.tiers.map((tier) => ({ aboveInputTokens: tier.aboveInputTokens, ...stated(tier) })) }),
    ...(price.extras === undefined
      ? {}
      : { extras: Object.fromEntries(Object.entries(price.extras).map(([name, extra]) => [name, stated(extra)])) }),
  });
}

/** The rates a request of this size pays, as a whole: those of the largest context it exceeds. */
export function ratesAt(tariff: Tariff, inputTokens: number): TariffTokenRates {
  let found = tariff.tokens[0];
  for (const rates of tariff.tokens) if (inputTokens > rates.aboveInputTokens) found = rates;
  return found;
}

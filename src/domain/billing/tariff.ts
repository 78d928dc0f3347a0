import { type Decimal, formatDecimal } from "../../kit/money.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { ChargeRecord } from "../record/record.ts";
import { digitsAt, tenTo } from "./rate.ts";

/** Token rates of one context size, as integers of `1 / scale` units of the price's currency per million tokens. */
export type TokenRates = {
  readonly aboveInputTokens: number;
  readonly input: bigint;
  readonly cachedRead: bigint;
  readonly cacheWrite: bigint;
  readonly cacheWrite1h: bigint;
  readonly audioInput: bigint;
  readonly output: bigint;
  readonly audioOutput: bigint;
};

/** A price row made ready for whole-number arithmetic: every decimal at one common scale. */
export type Tariff = {
  readonly scale: bigint;
  /** Smallest context first; the first row is the base. */
  readonly tokens: readonly [TokenRates, ...TokenRates[]];
  readonly per1mCharacters: bigint;
  readonly perMinuteAudio: bigint;
  readonly perRequest: bigint;
  /** The row as it is written beside a charge: decimals as text, what is not stated left out. */
  readonly record: ChargeRecord["price"];
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
  const tariff = derive(price);
  derived.set(price, tariff);
  return tariff;
}

function derive(price: Price): Tariff {
  const decimals = [...decimalsOf(price), ...price.tiers.flatMap((tier) => decimalsOf(tier))];
  for (const [name, value] of decimals) if (value.digits < 0n) throw new ImpossiblePrice(`${name} is negative`);
  const scale = Math.max(0, ...decimals.map(([, value]) => value.scale));
  const at = (value: Decimal | null) => (value === null ? undefined : digitsAt(value, scale));

  // What a row does not state falls back to the plain rate of its side; what has no plain rate is not priced.
  const ratesFrom = (
    aboveInputTokens: number,
    input: bigint | undefined,
    output: bigint | undefined,
    cachedRead: bigint | undefined,
  ): TokenRates => ({
    aboveInputTokens,
    input: input ?? 0n,
    output: output ?? 0n,
    cachedRead: cachedRead ?? input ?? 0n,
    cacheWrite: at(price.cacheWritePer1mTokens) ?? input ?? 0n,
    cacheWrite1h: at(price.cacheWrite1hPer1mTokens ?? price.cacheWritePer1mTokens) ?? input ?? 0n,
    audioInput: at(price.audioInputPer1mTokens) ?? input ?? 0n,
    audioOutput: at(price.audioOutputPer1mTokens) ?? output ?? 0n,
  });
  const input = at(price.inputPer1mTokens);
  const output = at(price.outputPer1mTokens);
  const cachedRead = at(price.cachedReadPer1mTokens);
  const tiers = price.tiers
    .toSorted((a, b) => a.aboveInputTokens - b.aboveInputTokens)
    .map((tier) =>
      ratesFrom(
        tier.aboveInputTokens,
        at(tier.inputPer1mTokens) ?? input,
        at(tier.outputPer1mTokens) ?? output,
        at(tier.cachedReadPer1mTokens) ?? cachedRead,
      ),
    );
  return {
    scale: tenTo(scale),
    tokens: [ratesFrom(-1, input, output, cachedRead), ...tiers],
    per1mCharacters: at(price.per1mCharacters) ?? 0n,
    perMinuteAudio: at(price.perMinuteAudio) ?? 0n,
    perRequest: at(price.perRequest) ?? 0n,
    record: recordOf(price),
  };
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
  });
}

/** The rates a request of this size pays, as a whole: those of the largest context it exceeds. */
export function ratesAt(tariff: Tariff, inputTokens: number): TokenRates {
  let found = tariff.tokens[0];
  for (const rates of tariff.tokens) if (inputTokens > rates.aboveInputTokens) found = rates;
  return found;
}

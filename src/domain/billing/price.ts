import { divideHalfUp, NANOS_PER_UNIT, parseDecimal } from "../../kit/money.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { ChargeRecord, UsageRecord } from "../record/record.ts";
import { type Currencies, type ExchangeRate, NoExchangeRate, rateBetween, tenTo } from "./rate.ts";
import { ratesAt, type Tariff, type TokenRates, tariffOf } from "./tariff.ts";

/** Figures above this are a provider's mistake, not a request. */
export const USAGE_MAX = 1_000_000_000;
/** What a 64-bit column of the ledger can hold. */
export const CHARGE_MAX_NANOS = 2n ** 63n - 1n;

/** A usage report that nobody may be billed by: the caller falls back to an estimate bounded by the hold. */
export class ImpossibleUsage extends Error {
  constructor(what: string) {
    super(`impossible usage: ${what}`);
    this.name = "ImpossibleUsage";
  }
}

export type Charge = { readonly nanos: bigint; readonly record: ChargeRecord };

/** What a request costs in the wallet's currency: exact fractions all the way, one rounding (half up) at the end. */
export function chargeFor(usage: UsageRecord, price: Price, currencies: Currencies, walletCurrency: string): Charge {
  checkUsage(usage);
  const rate = requireRate(currencies, price.currency, walletCurrency);
  const tariff = tariffOf(price);
  const tokens = tokenCost(usage, ratesAt(tariff, usage.inputTokens));
  const cost = costOf(tariff, tokens, usage.characters ?? 0, usage.seconds ?? 0);
  const nanos = divideHalfUp(cost.numerator * NANOS_PER_UNIT * rate.numerator, cost.denominator * rate.denominator);
  if (nanos > CHARGE_MAX_NANOS) throw new ImpossibleUsage("the charge is larger than the ledger can hold");
  return {
    nanos,
    record: { nanos: nanos.toString(), currency: walletCurrency, price: tariff.record, rate: rate.record },
  };
}

/** What a request has besides tokens; `cacheTtl` is the longest time it asks to keep something in a cache. */
type HoldAlso = { readonly characters?: number; readonly seconds?: number; readonly cacheTtl?: "5m" | "1h" };

/**
 * What to reserve before the call: no request with at most this many tokens can cost more, whatever share of them
 * turns out to be cached, written to a cache or audio.
 */
export function holdFor(
  inputTokensEstimate: number,
  outputLimit: number,
  price: Price,
  currencies: Currencies,
  walletCurrency: string,
  also: HoldAlso = {},
): bigint {
  const { characters = 0, seconds = 0, cacheTtl = "5m" } = also;
  checkCount("input tokens", inputTokensEstimate);
  checkCount("output tokens", outputLimit);
  checkCount("characters", characters);
  checkSeconds(seconds);
  const rate = requireRate(currencies, price.currency, walletCurrency);
  const tariff = tariffOf(price);
  let dearestInput = 0n;
  let dearestOutput = 0n;
  for (const rates of tariff.tokens) {
    if (rates.aboveInputTokens >= inputTokensEstimate) continue;
    dearestInput = largest(dearestInput, rates.input, rates.cachedRead, rates.cacheWrite, rates.audioInput);
    if (cacheTtl === "1h") dearestInput = largest(dearestInput, rates.cacheWrite1h);
    dearestOutput = largest(dearestOutput, rates.output, rates.audioOutput);
  }
  const tokens = BigInt(inputTokensEstimate) * dearestInput + BigInt(outputLimit) * dearestOutput;
  const cost = costOf(tariff, tokens, characters, seconds);
  const numerator = cost.numerator * NANOS_PER_UNIT * rate.numerator;
  const denominator = cost.denominator * rate.denominator;
  return (numerator + denominator - 1n) / denominator;
}

function requireRate(currencies: Currencies, from: string, to: string): ExchangeRate {
  const rate = rateBetween(currencies, from, to);
  if (rate === undefined) throw new NoExchangeRate(from, to);
  return rate;
}

/** In `1 / scale` units of the price's currency per million tokens, times tokens. */
function tokenCost(usage: UsageRecord, rates: TokenRates): bigint {
  // Audio that was read from the cache is billed as cached: the same token is never counted twice.
  const fresh = usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const audioInput = Math.min(usage.audioInputTokens, fresh);
  const hourLong = usage.cacheWrite1hTokens ?? 0;
  return (
    BigInt(fresh - audioInput) * rates.input +
    BigInt(audioInput) * rates.audioInput +
    BigInt(usage.cachedTokens) * rates.cachedRead +
    BigInt(usage.cacheWriteTokens - hourLong) * rates.cacheWrite +
    BigInt(hourLong) * rates.cacheWrite1h +
    BigInt(usage.outputTokens - usage.audioOutputTokens) * rates.output +
    BigInt(usage.audioOutputTokens) * rates.audioOutput
  );
}

const PER_MILLION = 1_000_000n;
const SECONDS_PER_MINUTE = 60n;

/** Everything over one denominator, in units of the price's currency. */
function costOf(
  tariff: Tariff,
  tokens: bigint,
  characters: number,
  seconds: number,
): { numerator: bigint; denominator: bigint } {
  const perMillion = tokens + BigInt(characters) * tariff.per1mCharacters;
  const numerator = perMillion + PER_MILLION * tariff.perRequest;
  const denominator = PER_MILLION * tariff.scale;
  if (seconds === 0 || tariff.perMinuteAudio === 0n) return { numerator, denominator };
  const exact = parseDecimal(seconds);
  if (exact === undefined) throw new ImpossibleUsage(`seconds is ${seconds}`);
  const finer = SECONDS_PER_MINUTE * tenTo(exact.scale);
  return {
    numerator: numerator * finer + PER_MILLION * exact.digits * tariff.perMinuteAudio,
    denominator: denominator * finer,
  };
}

function checkUsage(usage: UsageRecord): void {
  checkCount("input tokens", usage.inputTokens);
  checkCount("cached tokens", usage.cachedTokens);
  checkCount("cache write tokens", usage.cacheWriteTokens);
  checkCount("cache write tokens of an hour", usage.cacheWrite1hTokens ?? 0);
  checkCount("output tokens", usage.outputTokens);
  checkCount("reasoning tokens", usage.reasoningTokens);
  checkCount("audio input tokens", usage.audioInputTokens);
  checkCount("audio output tokens", usage.audioOutputTokens);
  if (usage.characters !== null) checkCount("characters", usage.characters);
  if (usage.seconds !== null) checkSeconds(usage.seconds);
  if (usage.cachedTokens + usage.cacheWriteTokens > usage.inputTokens)
    throw new ImpossibleUsage("more tokens were read from and written to the cache than came in");
  if ((usage.cacheWrite1hTokens ?? 0) > usage.cacheWriteTokens)
    throw new ImpossibleUsage("more tokens were written to the cache for an hour than at all");
  if (usage.audioInputTokens > usage.inputTokens) throw new ImpossibleUsage("more audio than input tokens");
  if (usage.audioOutputTokens > usage.outputTokens) throw new ImpossibleUsage("more audio than output tokens");
}

function checkCount(what: string, value: number): void {
  if (!Number.isInteger(value) || value < 0 || value > USAGE_MAX) throw new ImpossibleUsage(`${what} is ${value}`);
}

function checkSeconds(value: number): void {
  if (!(value >= 0 && value <= USAGE_MAX)) throw new ImpossibleUsage(`seconds is ${value}`);
}

function largest(...values: bigint[]): bigint {
  let most = 0n;
  for (const value of values) if (value > most) most = value;
  return most;
}

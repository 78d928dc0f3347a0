import { divideHalfUp, NANOS_PER_UNIT, parseDecimal } from "../../kit/money.ts";
import { type TokenCounts, tokensOutsidePrompts } from "../../language/canon/usage.ts";
import type { Price } from "../catalogue/catalogue.ts";
import type { ChargeRecord, UsageRecord } from "../record/record.ts";
import { type CurrencyTable, type ExchangeRate, NoExchangeRate, powerOfTen, rateBetween } from "./exchange-rate.ts";
import { type Margin, NO_MARGIN } from "./margin.ts";
import { ratesAt, type Tariff, type TariffTokenRates, tariffOf } from "./tariff.ts";

/** Figures above this are a provider's mistake, not a request. */
const USAGE_MAX = 1_000_000_000;
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
export function chargeFor(
  usage: UsageRecord,
  price: Price,
  currencies: CurrencyTable,
  walletCurrency: string,
  margin: Margin,
): Charge {
  checkUsage(usage);
  const rate = requireRate(currencies, price.currency, walletCurrency);
  const tariff = tariffOf(price);
  const cost = costOf(tariff, {
    tokens: allTokens(usage, tariff),
    characters: usage.characters ?? 0,
    seconds: usage.seconds ?? 0,
    images: usage.images ?? 0,
    extras: usage.extras,
  });
  const nanos = divideHalfUp(
    cost.numerator * NANOS_PER_UNIT * rate.numerator * margin.numerator,
    cost.denominator * rate.denominator * margin.denominator,
  );
  if (nanos > CHARGE_MAX_NANOS) throw new ImpossibleUsage("the charge is larger than the ledger can hold");
  const record = { nanos: nanos.toString(), currency: walletCurrency, price: tariff.record, rate: rate.record };
  return { nanos, record: margin === NO_MARGIN ? record : { ...record, margin: margin.share } };
}

/** What a request has besides tokens; `cacheTtl` is the longest time it asks to keep something in a cache. */
type HoldUnits = {
  readonly characters?: number | undefined;
  readonly seconds?: number | undefined;
  readonly images?: number | undefined;
  readonly cacheTtl?: "5m" | "1h" | undefined;
  /** What it asks for that is billed apart, with the most uses where it states them. */
  readonly extras?: readonly { readonly name: string; readonly usesMax?: number }[] | undefined;
  /** How many prompts of this size it is; absent: one. */
  readonly prompts?: number | undefined;
  readonly margin: Margin;
};

/**
 * What to reserve before the call: no request with at most this many tokens can cost more, whatever share of them
 * turns out to be cached, written to a cache, thought or audio.
 */
export function holdFor(
  inputTokensEstimate: number,
  outputLimit: number,
  price: Price,
  currencies: CurrencyTable,
  walletCurrency: string,
  also: HoldUnits,
): bigint {
  const { characters = 0, seconds = 0, images = 0, cacheTtl = "5m", prompts = 1, margin } = also;
  checkCount("input tokens", inputTokensEstimate);
  checkCount("output tokens", outputLimit);
  checkCount("characters", characters);
  checkCount("images", images);
  checkSeconds(seconds);
  const rate = requireRate(currencies, price.currency, walletCurrency);
  const tariff = tariffOf(price);
  let dearestInput = 0n;
  let dearestOutput = 0n;
  for (const rates of tariff.tokens) {
    if (rates.aboveInputTokens >= inputTokensEstimate) continue;
    const input = cacheTtl === "1h" ? rates.dearestInput1h : rates.dearestInput;
    if (input > dearestInput) dearestInput = input;
    if (rates.dearestOutput > dearestOutput) dearestOutput = rates.dearestOutput;
  }
  const prompt = BigInt(inputTokensEstimate) * dearestInput + BigInt(outputLimit) * dearestOutput;
  const tokens = BigInt(prompts) * prompt;
  const extras = also.extras === undefined ? undefined : mostUses(tariff, also.extras);
  const cost = costOf(tariff, { tokens, characters, seconds, images, extras });
  const numerator = cost.numerator * NANOS_PER_UNIT * rate.numerator * margin.numerator;
  const denominator = cost.denominator * rate.denominator * margin.denominator;
  return (numerator + denominator - 1n) / denominator;
}

function mostUses(tariff: Tariff, asked: NonNullable<HoldUnits["extras"]>): Record<string, number> {
  const uses: Record<string, number> = {};
  for (const { name, usesMax } of asked) {
    const most = usesMax ?? tariff.extras?.get(name)?.usesMax ?? 0;
    // What only multiplies is in force once it is asked for.
    uses[name] = (uses[name] ?? 0) + Math.min(Math.max(1, most), USAGE_MAX);
  }
  return uses;
}

function requireRate(currencies: CurrencyTable, from: string, to: string): ExchangeRate {
  const rate = rateBetween(currencies, from, to);
  if (rate === undefined) throw new NoExchangeRate(from, to);
  return rate;
}

/** Every prompt pays by its own length. Of those that are known by their sum each is taken to be as long as the others. */
function allTokens(usage: UsageRecord, tariff: Tariff): bigint {
  const { prompts, inputs = 1 } = usage;
  const rest = tokensOutsidePrompts(usage);
  let cost = tokenCost(rest, ratesAt(tariff, Math.ceil(rest.inputTokens / inputs)));
  for (const one of prompts ?? []) cost += tokenCost(one, ratesAt(tariff, one.inputTokens));
  return cost;
}

/** In `1 / scale` units of the price's currency per million tokens, times tokens. */
function tokenCost(usage: TokenCounts, rates: TariffTokenRates): bigint {
  // Audio that was read from the cache is billed as cached: the same token is never counted twice.
  const fresh = usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const audioInput = Math.min(usage.audioInputTokens, fresh);
  const hourLong = usage.cacheWrite1hTokens ?? 0;
  const spoken = usage.outputTokens - usage.audioOutputTokens;
  const thought = Math.min(usage.reasoningTokens, spoken);
  return (
    times(fresh - audioInput, rates.input) +
    times(audioInput, rates.audioInput) +
    times(usage.cachedTokens, rates.cachedRead) +
    times(usage.cacheWriteTokens - hourLong, rates.cacheWrite) +
    times(hourLong, rates.cacheWrite1h) +
    times(spoken - thought, rates.output) +
    times(thought, rates.reasoning) +
    times(usage.audioOutputTokens, rates.audioOutput)
  );
}

/** Of most kinds there are none. */
function times(count: number, rate: bigint): bigint {
  return count === 0 ? 0n : BigInt(count) * rate;
}

const PER_MILLION = 1_000_000n;
const SECONDS_PER_MINUTE = 60n;

type BillableUnits = {
  readonly tokens: bigint;
  readonly characters: number;
  readonly seconds: number;
  readonly images: number;
  readonly extras: UsageRecord["extras"];
};

/** Everything over one denominator, in units of the price's currency. */
function costOf(
  tariff: Tariff,
  { tokens, characters, seconds, images, extras }: BillableUnits,
): { numerator: bigint; denominator: bigint } {
  const apart = extras === undefined || tariff.extras === undefined ? undefined : extraCost(tariff.extras, extras);
  const priced = apart === undefined ? tokens : tokens * apart.numerator;
  const flat = tariff.perRequest + times(images, tariff.perImage) + (apart?.uses ?? 0n);
  const beside = times(characters, tariff.per1mCharacters) + PER_MILLION * flat;
  const numerator = priced + (apart === undefined ? beside : beside * apart.denominator);
  const denominator = PER_MILLION * tariff.scale * (apart?.denominator ?? 1n);
  if (seconds === 0 || tariff.perMinuteAudio === 0n) return { numerator, denominator };
  const exact = parseDecimal(seconds);
  if (exact === undefined) throw new ImpossibleUsage(`seconds is ${seconds}`);
  const finer = SECONDS_PER_MINUTE * powerOfTen(exact.scale);
  return {
    numerator: numerator * finer + PER_MILLION * exact.digits * tariff.perMinuteAudio * (apart?.denominator ?? 1n),
    denominator: denominator * finer,
  };
}

/** What is taken for uses, and what the cost of tokens is multiplied by. What is not priced was not for sale. */
function extraCost(rates: NonNullable<Tariff["extras"]>, used: NonNullable<UsageRecord["extras"]>) {
  let uses = 0n;
  let numerator = 1n;
  let denominator = 1n;
  for (const [name, times] of Object.entries(used)) {
    const rate = rates.get(name);
    if (rate === undefined || times === 0) continue;
    uses += BigInt(times) * rate.perUse;
    numerator *= rate.numerator;
    denominator *= rate.denominator;
  }
  return { uses, numerator, denominator };
}

function checkUsage(usage: UsageRecord): void {
  checkTokens(usage);
  if (usage.prompts !== undefined)
    for (const part of [tokensOutsidePrompts(usage), ...usage.prompts]) checkTokens(part);
  if (usage.images !== undefined) checkCount("images", usage.images);
  if (usage.extras !== undefined)
    for (const [name, uses] of Object.entries(usage.extras)) checkCount(`uses of ${name}`, uses);
  if (usage.characters !== null) checkCount("characters", usage.characters);
  if (usage.seconds !== null) checkSeconds(usage.seconds);
}

function checkTokens(usage: TokenCounts): void {
  checkCount("input tokens", usage.inputTokens);
  checkCount("cached tokens", usage.cachedTokens);
  checkCount("cache write tokens", usage.cacheWriteTokens);
  checkCount("cache write tokens of an hour", usage.cacheWrite1hTokens ?? 0);
  checkCount("output tokens", usage.outputTokens);
  checkCount("reasoning tokens", usage.reasoningTokens);
  checkCount("audio input tokens", usage.audioInputTokens);
  checkCount("audio output tokens", usage.audioOutputTokens);
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

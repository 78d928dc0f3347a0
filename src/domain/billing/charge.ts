import { divideHalfUp, formatDecimal, NANOS_PER_UNIT, parseDecimal, powerOfTen } from "../../kit/money.ts";
import { tokensOutsidePrompts } from "../../language/canon/tokens.ts";
import type { TokenCounts } from "../../language/canon/usage.ts";
import type { Currency, Price } from "../catalogue/catalogue.ts";
import type { IngestFields } from "../record/ingest-fields.ts";
import type { ChargeRecord, UsageRecord } from "../record/record.ts";
import { ImpossibleUsage, NoExchangeRate } from "./charge-errors.ts";
import { type HoldUnits, type Margin, NO_MARGIN } from "./margin.ts";
import { maximumUses, surchargesFor } from "./surcharges.ts";
import { buildTariff, type Tariff, type TariffTokenRates } from "./tariff.ts";

/** A larger count is an error of the provider. */
const USAGE_MAX = 1_000_000_000;
/** The maximum of a 64-bit column. */
export const CHARGE_MAX_NANOS = 2n ** 63n - 1n;

/** Margins in memory, for the request path. */
export class MarginRegistry {
  /** For workspaces without a margin of their own. */
  readonly defaultMargin: Margin;
  readonly #overrides = new Map<string, Margin>();

  constructor(defaultMargin: Margin) {
    this.defaultMargin = defaultMargin;
  }

  set(workspaceId: string, margin: Margin | null): void {
    if (margin === null) this.#overrides.delete(workspaceId);
    else this.#overrides.set(workspaceId, margin);
  }

  /** Undefined when the default applies. */
  overrideFor(workspaceId: string): Margin | undefined {
    return this.#overrides.get(workspaceId);
  }

  marginFor(workspaceId: string): Margin {
    return this.#overrides.size === 0 ? this.defaultMargin : (this.#overrides.get(workspaceId) ?? this.defaultMargin);
  }
}

export type Charge = { readonly nanos: bigint; readonly record: ChargeRecord };

/** The charge in the wallet's currency: exact fractions, rounded once (half up) at the end. */
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
    tokens: allTokenCost(usage, tariff),
    characters: usage.characters ?? 0,
    seconds: usage.seconds ?? 0,
    images: usage.images ?? 0,
    searchUnits: usage.searchUnits ?? 0,
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

/**
 * The amount to reserve before the call: an upper bound for these token counts, whatever share of them turns out to be
 * cached, written to a cache, reasoning or audio.
 */
export function holdFor(
  inputTokensEstimate: number,
  outputLimit: number,
  price: Price,
  currencies: CurrencyTable,
  walletCurrency: string,
  units: HoldUnits,
): bigint {
  const { characters = 0, seconds = 0, images = 0, searchUnits = 0, cacheTtl = "5m", prompts = 1, margin } = units;
  checkCount("input tokens", inputTokensEstimate);
  checkCount("output tokens", outputLimit);
  checkCount("characters", characters);
  checkCount("images", images);
  checkCount("search units", searchUnits);
  checkSeconds(seconds);
  const rate = requireRate(currencies, price.currency, walletCurrency);
  const tariff = tariffOf(price);
  let highestInput = 0n;
  let highestOutput = 0n;
  for (const rates of tariff.tokens) {
    if (rates.aboveInputTokens >= inputTokensEstimate) continue;
    const input = cacheTtl === "1h" ? rates.highestInput1h : rates.highestInput;
    if (input > highestInput) highestInput = input;
    if (rates.highestOutput > highestOutput) highestOutput = rates.highestOutput;
  }
  const prompt = BigInt(inputTokensEstimate) * highestInput + BigInt(outputLimit) * highestOutput;
  const tokens = BigInt(prompts) * prompt;
  const extras = units.extras === undefined ? undefined : maximumUses(tariff, units.extras, USAGE_MAX);
  const cost = costOf(tariff, { tokens, characters, seconds, images, searchUnits, extras });
  const numerator = cost.numerator * NANOS_PER_UNIT * rate.numerator * margin.numerator;
  const denominator = cost.denominator * rate.denominator * margin.denominator;
  return (numerator + denominator - 1n) / denominator;
}

function requireRate(currencies: CurrencyTable, from: string, to: string): ExchangeRate {
  const rate = rateBetween(currencies, from, to);
  if (rate === undefined) throw new NoExchangeRate(from, to);
  return rate;
}

/** Each prompt pays by its own length; prompts known only by their sum count as equally long. */
function allTokenCost(usage: UsageRecord, tariff: Tariff): bigint {
  const { prompts, inputs = 1 } = usage;
  const rest = tokensOutsidePrompts(usage);
  let cost = tokenCost(rest, ratesAt(tariff, Math.ceil(rest.inputTokens / inputs)));
  for (const prompt of prompts ?? []) cost += tokenCost(prompt, ratesAt(tariff, prompt.inputTokens));
  return cost;
}

/** In `1 / scale` units of the price's currency per million tokens, times tokens. */
function tokenCost(usage: TokenCounts, rates: TariffTokenRates): bigint {
  // Cached audio is billed as cached: no token is counted twice.
  const uncached = usage.inputTokens - usage.cachedTokens - usage.cacheWriteTokens;
  const audioInput = Math.min(usage.audioInputTokens, uncached);
  const imageInput = Math.min(usage.imageInputTokens ?? 0, uncached - audioInput);
  const imageOutput = usage.imageOutputTokens ?? 0;
  const cacheWrite1h = usage.cacheWrite1hTokens ?? 0;
  const textOutput = usage.outputTokens - usage.audioOutputTokens - imageOutput;
  const reasoning = Math.min(usage.reasoningTokens, textOutput);
  return (
    times(uncached - audioInput - imageInput, rates.input) +
    times(audioInput, rates.audioInput) +
    times(imageInput, rates.imageInput) +
    times(usage.cachedTokens, rates.cachedRead) +
    times(usage.cacheWriteTokens - cacheWrite1h, rates.cacheWrite) +
    times(cacheWrite1h, rates.cacheWrite1h) +
    times(textOutput - reasoning, rates.output) +
    times(reasoning, rates.reasoning) +
    times(usage.audioOutputTokens, rates.audioOutput) +
    times(imageOutput, rates.imageOutput)
  );
}

/** Avoids bigint arithmetic for the usual zero. */
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
  readonly searchUnits: number;
  readonly extras: UsageRecord["extras"];
};

/** Over one denominator, in units of the price's currency. */
function costOf(
  tariff: Tariff,
  { tokens, characters, seconds, images, searchUnits, extras }: BillableUnits,
): { numerator: bigint; denominator: bigint } {
  const surcharges =
    extras === undefined || tariff.extras === undefined ? undefined : surchargesFor(tariff.extras, extras);
  const tokenShare = surcharges === undefined ? tokens : tokens * surcharges.numerator;
  const flat = tariff.perRequest + times(images, tariff.perImage) + (surcharges?.uses ?? 0n);
  const otherShare =
    times(characters, tariff.per1mCharacters) +
    1000n * times(searchUnits, tariff.per1kSearchUnits) +
    PER_MILLION * flat;
  const numerator = tokenShare + (surcharges === undefined ? otherShare : otherShare * surcharges.denominator);
  const denominator = PER_MILLION * tariff.scale * (surcharges?.denominator ?? 1n);
  if (seconds === 0 || tariff.perMinuteAudio === 0n) return { numerator, denominator };
  const exact = parseDecimal(seconds);
  if (exact === undefined) throw new ImpossibleUsage(`seconds is ${seconds}`);
  const factor = SECONDS_PER_MINUTE * powerOfTen(exact.scale);
  return {
    numerator:
      numerator * factor + PER_MILLION * exact.digits * tariff.perMinuteAudio * (surcharges?.denominator ?? 1n),
    denominator: denominator * factor,
  };
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
  checkCount("1-hour cache write tokens", usage.cacheWrite1hTokens ?? 0);
  checkCount("output tokens", usage.outputTokens);
  checkCount("reasoning tokens", usage.reasoningTokens);
  checkCount("audio input tokens", usage.audioInputTokens);
  checkCount("audio output tokens", usage.audioOutputTokens);
  checkCount("image input tokens", usage.imageInputTokens ?? 0);
  checkCount("image output tokens", usage.imageOutputTokens ?? 0);
  if (usage.cachedTokens + usage.cacheWriteTokens > usage.inputTokens)
    throw new ImpossibleUsage("more tokens were read from and written to the cache than the input has");
  if ((usage.cacheWrite1hTokens ?? 0) > usage.cacheWriteTokens)
    throw new ImpossibleUsage("more tokens were written to the 1-hour cache than to the cache in total");
  if (usage.audioInputTokens + (usage.imageInputTokens ?? 0) > usage.inputTokens)
    throw new ImpossibleUsage("more audio and image input tokens than input tokens");
  if (usage.audioOutputTokens + (usage.imageOutputTokens ?? 0) > usage.outputTokens)
    throw new ImpossibleUsage("more audio and image output tokens than output tokens");
}

function checkCount(what: string, value: number): void {
  if (!Number.isInteger(value) || value < 0 || value > USAGE_MAX) throw new ImpossibleUsage(`${what} is ${value}`);
}

function checkSeconds(value: number): void {
  if (!(value >= 0 && value <= USAGE_MAX)) throw new ImpossibleUsage(`seconds is ${value}`);
}

export type CurrencyTable = ReadonlyMap<string, Pick<Currency, "code" | "perEur">>;

/** An exact fraction: an amount times `numerator / denominator` is the amount in the other currency. */
export type ExchangeRate = {
  readonly numerator: bigint;
  readonly denominator: bigint;
  /** Recorded with the charge; null when both currencies are the same. */
  readonly record: ChargeRecord["rate"];
};

const SAME: ExchangeRate = { numerator: 1n, denominator: 1n, record: null };

/** Converts through the euro; undefined when a currency is unknown. */
export function rateBetween(currencies: CurrencyTable, from: string, to: string): ExchangeRate | undefined {
  if (from === to) return SAME;
  const source = currencies.get(from)?.perEur;
  const target = currencies.get(to)?.perEur;
  if (source === undefined || target === undefined) return undefined;
  if (source.digits <= 0n || target.digits <= 0n) return undefined;
  return {
    numerator: target.digits * powerOfTen(source.scale),
    denominator: source.digits * powerOfTen(target.scale),
    record: { from, to, perEurFrom: formatDecimal(source), perEurTo: formatDecimal(target) },
  };
}

// Price rows of a snapshot are frozen, so tariffs can be cached.
const derived = new WeakMap<Price, Tariff>();

function tariffOf(price: Price): Tariff {
  const known = derived.get(price);
  if (known !== undefined) return known;
  const tariff = buildTariff(price);
  derived.set(price, tariff);
  return tariff;
}

/** The whole request pays the rates of the largest context that it exceeds. */
function ratesAt(tariff: Tariff, inputTokens: number): TariffTokenRates {
  let found = tariff.tokens[0];
  for (const rates of tariff.tokens) if (inputTokens > rates.aboveInputTokens) found = rates;
  return found;
}

/** Zero when nothing was charged. */
export function chargedNanosOf(record: IngestFields): bigint {
  if (record.charge === null) return 0n;
  const nanos = BigInt(record.charge.nanos);
  if (nanos < 0n) throw new RangeError(`request ${record.id} has a negative charge`);
  return nanos;
}

export const CHARGE_PREFIX = "charge:";

/** The charge of a request has an id derived from the request's. */
export const chargeIdOf = (requestId: string): string => `${CHARGE_PREFIX}${requestId}`;

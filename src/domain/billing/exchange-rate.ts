import { type Decimal, formatDecimal } from "../../kit/money.ts";
import type { Currency } from "../catalogue/catalogue.ts";
import type { ChargeRecord } from "../record/record.ts";

export type CurrencyTable = ReadonlyMap<string, Pick<Currency, "code" | "perEur">>;

/** An exact fraction: an amount times `numerator / denominator` is the amount in the other currency. */
export type ExchangeRate = {
  readonly numerator: bigint;
  readonly denominator: bigint;
  /** Recorded with the charge; null when both currencies are the same. */
  readonly record: ChargeRecord["rate"];
};

/** The endpoint should not have been eligible for a wallet in this currency. */
export class NoExchangeRate extends Error {
  constructor(from: string, to: string) {
    super(`there is no exchange rate from ${from} to ${to}`);
    this.name = "NoExchangeRate";
  }
}

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

export function powerOfTen(power: number): bigint {
  return 10n ** BigInt(power);
}

/** `scale` must not be smaller than that of the value. */
export function digitsAtScale(value: Decimal, scale: number): bigint {
  return value.digits * powerOfTen(scale - value.scale);
}

/**
 * How an amount is shown:
 * - `amount`: what people pay, such as totals and top-ups, in the currency's own digits; less than one cent is `<€0.01`.
 * - `balance`: as `amount`, rounded down, so that it never promises more than there is.
 * - `price`: unit prices and costs of single requests, with significant digits.
 * - `exact`: all digits, for amounts that people set.
 */
export type MoneyAs = "amount" | "balance" | "price" | "exact";

/** The API's amounts have nine places; averages can be smaller. */
const PLACES_MAX = 12;
const DEFAULT_PLACES = 2;
const SIGNIFICANT_DIGITS = 4;

/** A decimal string in the reader's locale. */
export function moneyText(amount: string, currency: string, as: MoneyAs = "amount"): string {
  const style = { style: "currency", currency } as const;
  try {
    const { minimumFractionDigits: places = DEFAULT_PLACES } = new Intl.NumberFormat(
      undefined,
      style,
    ).resolvedOptions();
    const format = new Intl.NumberFormat(undefined, {
      ...style,
      minimumFractionDigits: places,
      maximumFractionDigits: Math.max(places, extraPlaces(amount, as)),
      roundingMode: as === "balance" ? "floor" : "halfExpand",
    });
    const smallest = 10 ** -places;
    const size = Math.abs(Number(amount));
    if (as === "amount" && size > 0 && size < smallest)
      return amount.startsWith("-") ? `>${format.format(-smallest)}` : `<${format.format(smallest)}`;
    return format.format(isDecimal(amount) ? amount : Number(amount));
  } catch {
    return `${amount} ${currency}`;
  }
}

/** Intl formats decimal strings exactly; a number would lose digits. */
function isDecimal(amount: string): amount is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(amount);
}

function extraPlaces(amount: string, as: MoneyAs): number {
  if (as === "exact") return PLACES_MAX;
  const size = Math.abs(Number(amount));
  if (as !== "price" || !(size > 0)) return 0;
  return Math.min(PLACES_MAX, Math.max(0, SIGNIFICANT_DIGITS - 1 - Math.floor(Math.log10(size))));
}

/** `balance` rounds down, `exact` keeps all digits. */
export type MoneyAs = "amount" | "balance" | "exact";

const PLACES = 9;
const DEFAULT_PLACES = 2;

/** A decimal string in the reader's locale; small amounts keep their significant digits. */
export function moneyText(amount: string, currency: string, as: MoneyAs = "amount"): string {
  const style = { style: "currency", currency } as const;
  try {
    const defaultPlaces =
      new Intl.NumberFormat(undefined, style).resolvedOptions().minimumFractionDigits ?? DEFAULT_PLACES;
    const format = new Intl.NumberFormat(undefined, {
      ...style,
      minimumFractionDigits: defaultPlaces,
      maximumFractionDigits: Math.max(defaultPlaces, as === "exact" ? PLACES : placesFor(Math.abs(Number(amount)))),
      roundingMode: as === "balance" ? "floor" : "halfExpand",
    });
    return format.format(isDecimal(amount) ? amount : Number(amount));
  } catch {
    return `${amount} ${currency}`;
  }
}

/** Intl formats decimal strings exactly; a number would lose digits. */
function isDecimal(amount: string): amount is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(amount);
}

/** Two fraction digits, more if two would round to zero. */
function placesFor(size: number): number {
  if (size === 0 || size >= 0.1) return DEFAULT_PLACES;
  if (size >= 0.001) return 4;
  return size >= 0.000_01 ? 6 : PLACES;
}

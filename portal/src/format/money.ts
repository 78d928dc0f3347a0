/** `balance` is never shown as more than it is, `exact` has all its places. */
export type MoneyAs = "amount" | "balance" | "exact";

const PLACES = 9;
const USUAL_PLACES = 2;

/** An exact decimal string in the reader's locale. Small amounts keep the places that say something. */
export function moneyText(amount: string, currency: string, as: MoneyAs = "amount"): string {
  const style = { style: "currency", currency } as const;
  try {
    const usual = new Intl.NumberFormat(undefined, style).resolvedOptions().minimumFractionDigits ?? USUAL_PLACES;
    const format = new Intl.NumberFormat(undefined, {
      ...style,
      minimumFractionDigits: usual,
      maximumFractionDigits: Math.max(usual, as === "exact" ? PLACES : placesFor(Math.abs(Number(amount)))),
      roundingMode: as === "balance" ? "floor" : "halfExpand",
    });
    return format.format(isDecimal(amount) ? amount : Number(amount));
  } catch {
    return `${amount} ${currency}`;
  }
}

/** Formatted as it is written: a number would lose places. */
function isDecimal(amount: string): amount is `${number}` {
  return /^-?\d+(\.\d+)?$/.test(amount);
}

/** Two places for what one pays, more where two would show nothing. */
function placesFor(size: number): number {
  if (size === 0 || size >= 0.1) return USUAL_PLACES;
  if (size >= 0.001) return 4;
  return size >= 0.000_01 ? 6 : PLACES;
}

/** An exact decimal string in the reader's locale. Small amounts keep the places that say something. */
export function moneyText(amount: string, currency: string): string {
  const places = placesFor(Math.abs(Number(amount)));
  try {
    const format = new Intl.NumberFormat(undefined, {
      style: "currency",
      currency,
      minimumFractionDigits: Math.min(2, places),
      maximumFractionDigits: places,
    });
    return format.format(Number(amount));
  } catch {
    return `${amount} ${currency}`;
  }
}

/** Two places for what one pays, more where two would show nothing. */
function placesFor(size: number): number {
  if (size === 0 || size >= 0.1) return 2;
  if (size >= 0.001) return 4;
  return size >= 0.000_01 ? 6 : 9;
}

/** Amounts are decimal strings with at most nine fraction digits; sums use integer nano-units to stay exact. */
const PLACES = 9;

export function nanosOf(amount: string): bigint {
  const match = /^(-?)(\d+)(?:\.(\d{1,9}))?$/.exec(amount);
  if (match === null) return 0n;
  const [, sign, whole = "0", fraction = ""] = match;
  const nanos = BigInt(whole + fraction.padEnd(PLACES, "0"));
  return sign === "-" ? -nanos : nanos;
}

/** At least two fraction digits, as the API formats amounts. */
export function amountOf(nanos: bigint): string {
  const digits = (nanos < 0n ? -nanos : nanos).toString().padStart(PLACES + 1, "0");
  const fraction = digits.slice(-PLACES).replace(/0+$/, "").padEnd(2, "0");
  return `${nanos < 0n ? "-" : ""}${digits.slice(0, -PLACES)}.${fraction}`;
}

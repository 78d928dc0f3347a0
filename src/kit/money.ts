/** Money is `bigint` nano-units (1 EUR = 1,000,000,000). Prices are exact decimals, never floating point. */
export type Decimal = { readonly digits: bigint; readonly scale: number };

export const NANOS_PER_UNIT = 1_000_000_000n;
const DECIMAL_PATTERN = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Reads "0.75", 0.75 or "1e-7" exactly; undefined when it is not a plain number. */
export function parseDecimal(text: string | number): Decimal | undefined {
  const match = DECIMAL_PATTERN.exec(String(text).trim());
  if (match === null) return undefined;
  const [, sign, whole = "0", fraction = "", exponent = "0"] = match;
  const shift = Number(exponent);
  if (!Number.isInteger(shift) || Math.abs(shift) > 40) return undefined;
  const digits = BigInt(`${sign}${whole}${fraction}`);
  const scale = fraction.length - shift;
  return scale >= 0 ? { digits, scale } : { digits: digits * 10n ** BigInt(-scale), scale: 0 };
}

export function formatDecimal(value: Decimal): string {
  const negative = value.digits < 0n;
  const text = (negative ? -value.digits : value.digits).toString().padStart(value.scale + 1, "0");
  const whole = text.slice(0, text.length - value.scale);
  const fraction = value.scale === 0 ? "" : text.slice(text.length - value.scale).replace(/0+$/, "");
  return `${negative ? "-" : ""}${whole}${fraction === "" ? "" : `.${fraction}`}`;
}

/** Divides and rounds half away from zero: the one rounding of a charge. The denominator is positive. */
export function divideHalfUp(numerator: bigint, denominator: bigint): bigint {
  const negative = numerator < 0n;
  const magnitude = negative ? -numerator : numerator;
  const rounded = (2n * magnitude + denominator) / (2n * denominator);
  return negative ? -rounded : rounded;
}

/** Amount typed by a person ("12.50") to nano-units; undefined when it is no number or finer than a nano-unit. */
export function parseNanos(text: string): bigint | undefined {
  const value = parseDecimal(text);
  if (value === undefined || value.scale > 9) return undefined;
  return value.digits * 10n ** BigInt(9 - value.scale);
}

/** Decimal string with at least two places: "10.00", "0.0000125". */
export function formatNanos(nanos: bigint): string {
  const text = formatDecimal({ digits: nanos, scale: 9 });
  const point = text.indexOf(".");
  if (point < 0) return `${text}.00`;
  return text.length - point === 2 ? `${text}0` : text;
}

export function minNanos(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

export function powerOfTen(power: number): bigint {
  return 10n ** BigInt(power);
}

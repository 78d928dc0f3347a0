/** A typed number with a decimal point or comma; a comma before three digits is ambiguous and rejected. */
export const DECIMAL_PATTERN = String.raw`\d{1,15}(\.\d{1,9}|,(\d{1,2}|\d{4,9}))?`;

const WHOLE = new RegExp(`^${DECIMAL_PATTERN}$`);

/** The number in the API's format; undefined: ambiguous or invalid. */
export function decimalOf(typed: string): string | undefined {
  return WHOLE.test(typed) ? typed.replace(",", ".") : undefined;
}

/** A number as it is typed: a decimal point, or a comma. One before three digits may be of thousands. */
export const TYPED = String.raw`\d{1,15}(\.\d{1,9}|,(\d{1,2}|\d{4,9}))?`;

const WHOLE = new RegExp(`^${TYPED}$`);

/** As the API reads it; undefined: what is meant is not clear. */
export function decimalOf(typed: string): string | undefined {
  return WHOLE.test(typed) ? typed.replace(",", ".") : undefined;
}

/** Values of attributes in OTLP's JSON. Whole numbers travel as text there. */
type OtlpValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: readonly OtlpValue[] } };

export type OtlpAttribute = { readonly key: string; readonly value: OtlpValue };

export type AttributeValue = string | number | boolean | readonly string[];

/** What is not known is left out. */
export function otlpAttributes(values: Readonly<Record<string, AttributeValue | null | undefined>>): OtlpAttribute[] {
  const attributes: OtlpAttribute[] = [];
  for (const [key, value] of Object.entries(values))
    if (value !== null && value !== undefined) attributes.push({ key, value: otlpValue(value) });
  return attributes;
}

function otlpValue(value: AttributeValue): OtlpValue {
  if (typeof value === "string") return { stringValue: value };
  if (typeof value === "boolean") return { boolValue: value };
  if (typeof value !== "number") return { arrayValue: { values: value.map(otlpValue) } };
  return Number.isSafeInteger(value) ? { intValue: String(value) } : { doubleValue: value };
}

/** Milliseconds with a tenth, as nanoseconds: more than a number can hold. */
export function unixNanos(ms: number): string {
  return (BigInt(Math.round(ms * 10)) * 100_000n).toString();
}

/** Who speaks: the same in every message. */
export type OtlpSource = {
  readonly resource: { readonly attributes: readonly OtlpAttribute[] };
  readonly scope: { readonly name: string; readonly version: string };
};

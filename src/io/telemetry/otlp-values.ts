/** An attribute value of OTLP/JSON, in which integers are strings. */
type OtlpValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: readonly OtlpValue[] } };

export type OtlpAttribute = { readonly key: string; readonly value: OtlpValue };

export type AttributeValue = string | number | boolean | readonly string[];

/** Omits null and undefined values. */
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

/** Nanoseconds of OTLP, with a precision of a tenth of a millisecond; a double cannot hold them. */
export function unixNanos(ms: number): string {
  return (BigInt(Math.round(ms * 10)) * 100_000n).toString();
}

/** Resource and scope, the same in every message. */
export type OtlpSource = {
  readonly resource: { readonly attributes: readonly OtlpAttribute[] };
  readonly scope: { readonly name: string; readonly version: string };
};

import { isDeepStrictEqual } from "node:util";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { formatNanos, parseNanos } from "../../kit/money.ts";
import { parseIsoTimeMs } from "../../kit/time.ts";

/** A field whose value differs from the one in the file. */
export type FieldChange = { readonly path: string; readonly from: unknown; readonly to: unknown };

/** The fields of `wanted` whose current value differs; fields that it omits are not looked at. */
export function changedFields(wanted: JsonObject, current: JsonObject, prefix = ""): FieldChange[] {
  return Object.entries(wanted).flatMap(([name, value]): FieldChange[] => {
    if (value === undefined) return [];
    const path = `${prefix}${name}`;
    const before = current[name];
    if (PARTIAL.has(name) && isJsonObject(value) && isJsonObject(before))
      return changedFields(value, before, `${path}.`);
    const [from, to] = [canonicalField(name, before), canonicalField(name, value)];
    return isDeepStrictEqual(from, to) ? [] : [{ path, from, to }];
  });
}

/** Objects in which omitted fields stay unchanged. */
const PARTIAL: ReadonlySet<string> = new Set(["policy", "spend_limits"]);

const sorted = (list: readonly unknown[]) =>
  [...new Set(list)].toSorted((a, b) => (typeof a === "number" && typeof b === "number" ? a - b : compareText(a, b)));

function compareText(a: unknown, b: unknown): number {
  const [left, right] = [String(a), String(b)];
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

/** Lists in which the order means nothing. */
const SETS: ReadonlySet<string> = new Set([
  "countries",
  "blocked_providers",
  "allowed_models",
  "models",
  "scopes",
  "ip_allowlist",
  "limit_percents",
  "mail_to",
  "terms",
  "patterns",
]);
const COUNTRIES: ReadonlySet<string> = new Set(["countries", "country"]);
const AMOUNTS: ReadonlySet<string> = new Set(["day", "month", "low_balance"]);
/** An empty list of recipients is none; null means the owners and admins. */
const EMPTY_IS_A_VALUE: ReadonlySet<string> = new Set(["mail_to"]);

/** One form for values that mean the same: lists in any order, amounts and times in any notation, no value as null. */
function canonicalField(name: string, value: unknown): unknown {
  if (value === undefined || value === null || value === "none") return null;
  if (Array.isArray(value)) {
    if (value.length === 0 && !EMPTY_IS_A_VALUE.has(name)) return null;
    const list = COUNTRIES.has(name) ? value.map((code) => String(code).toUpperCase()) : value;
    return SETS.has(name) ? sorted(list) : list;
  }
  if (typeof value === "string") return canonicalText(name, value);
  if (!isJsonObject(value)) return value;
  const fields = Object.entries(value).flatMap(([key, inner]) => {
    const canonical = canonicalField(key, inner);
    return canonical === null ? [] : [[key, canonical] as const];
  });
  return fields.length === 0 ? null : Object.fromEntries(fields.toSorted(([a], [b]) => compareText(a, b)));
}

function canonicalText(name: string, text: string): string {
  if (COUNTRIES.has(name)) return text.toUpperCase();
  if (name === "expires_at") {
    const ms = parseIsoTimeMs(text);
    return ms === undefined ? text : new Date(ms).toISOString();
  }
  const nanos = AMOUNTS.has(name) ? parseNanos(text) : undefined;
  return nanos === undefined ? text : formatNanos(nanos);
}

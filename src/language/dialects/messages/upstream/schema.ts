import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";
import { isRawJsonNumber } from "../../../../kit/lossless-json.ts";

/** Keywords of strict output. */
const SUPPORTED_KEYWORDS: ReadonlySet<string> = new Set([
  "type",
  "title",
  "description",
  "default",
  "enum",
  "const",
  "properties",
  "required",
  "additionalProperties",
  "items",
  "anyOf",
  "allOf",
  "$ref",
  "$defs",
  "definitions",
  "pattern",
]);
const SUPPORTED_FORMATS: ReadonlySet<unknown> = new Set([
  "date-time",
  "time",
  "date",
  "duration",
  "email",
  "hostname",
  "uri",
  "ipv4",
  "ipv6",
  "uuid",
]);
const SCHEMA_MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
const SCHEMA_LISTS: ReadonlySet<string> = new Set(["anyOf", "allOf"]);

/** Converts a JSON Schema for strict output. Unsupported rules (ranges, lengths) move into the description. */
export function strictSchema(schema: JsonObject): JsonObject {
  const converted: Record<string, unknown> = {};
  const unsupported: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) {
    if (key === "oneOf" && schema["anyOf"] === undefined) converted["anyOf"] = convertKeyword("anyOf", value);
    else if (isSupported(key, value)) converted[key] = convertKeyword(key, value);
    else if (key !== "$schema") unsupported[key] = value;
  }
  if (isObjectSchema(schema) && schema["additionalProperties"] === undefined) converted["additionalProperties"] = false;
  if (Object.keys(unsupported).length === 0) return converted;
  const rule = `Must satisfy ${JSON.stringify(unsupported)}.`;
  const { description } = schema;
  return { ...converted, description: typeof description === "string" ? `${description} ${rule}` : rule };
}

function isSupported(key: string, value: unknown): boolean {
  if (key === "format") return SUPPORTED_FORMATS.has(value);
  if (key === "minItems") return value === 0 || value === 1;
  return SUPPORTED_KEYWORDS.has(key);
}

function isObjectSchema({ type, properties }: JsonObject): boolean {
  return type === "object" || properties !== undefined || (Array.isArray(type) && type.includes("object"));
}

function convertKeyword(key: string, value: unknown): unknown {
  if (key === "items" && isSchema(value)) return strictSchema(value);
  if (SCHEMA_LISTS.has(key) && Array.isArray(value))
    return value.map((inner) => (isSchema(inner) ? strictSchema(inner) : inner));
  if (!SCHEMA_MAPS.has(key) || !isSchema(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, isSchema(inner) ? strictSchema(inner) : inner]),
  );
}

function isSchema(value: unknown): value is JsonObject {
  return isJsonObject(value) && !isRawJsonNumber(value);
}

import { isJsonObject, type JsonObject } from "../../../../kit/json.ts";

/** Members that are schemas themselves, lists of schemas, or schemas by name. */
const INNER: ReadonlySet<string> = new Set(["items", "additionalProperties", "not"]);
const INNER_LISTS: ReadonlySet<string> = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const INNER_MAPS: ReadonlySet<string> = new Set(["properties", "$defs", "definitions"]);
/** 64-bit integers, which may be strings in this format. */
const COUNTS: ReadonlySet<string> = new Set([
  "minItems",
  "maxItems",
  "minLength",
  "maxLength",
  "minProperties",
  "maxProperties",
]);
const DEPTH_MAX = 100;

/** Google's subset of OpenAPI schemas as JSON Schema: types in lower case, and `nullable` as a type. */
export function toJsonSchema(schema: JsonObject, depth = 0): JsonObject {
  if (depth > DEPTH_MAX) return schema;
  const inner = (value: unknown): unknown => (isJsonObject(value) ? toJsonSchema(value, depth + 1) : value);
  const result: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(schema)) {
    // An order of the output, which JSON Schema does not have: the order of `properties` has the same effect.
    if (name === "propertyOrdering" || name === "nullable") continue;
    if (name === "type" && typeof value === "string") {
      if (value !== "TYPE_UNSPECIFIED") result[name] = value.toLowerCase();
    } else if (COUNTS.has(name) && typeof value === "string" && value !== "") result[name] = Number(value);
    else if (INNER.has(name)) result[name] = inner(value);
    else if (INNER_LISTS.has(name) && Array.isArray(value)) result[name] = value.map(inner);
    else if (INNER_MAPS.has(name) && isJsonObject(value))
      result[name] = name === "properties" ? orderedProperties(schema, value, inner) : mapped(value, inner);
    else result[name] = value;
  }
  return schema["nullable"] === true ? nullable(result) : result;
}

function mapped(value: JsonObject, inner: (value: unknown) => unknown): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]));
}

function orderedProperties(schema: JsonObject, properties: JsonObject, inner: (value: unknown) => unknown): JsonObject {
  const { propertyOrdering: order } = schema;
  if (!Array.isArray(order)) return mapped(properties, inner);
  const first = order.filter((name): name is string => typeof name === "string" && Object.hasOwn(properties, name));
  const names = [...new Set([...first, ...Object.keys(properties)])];
  return Object.fromEntries(names.map((name) => [name, inner(properties[name])]));
}

function nullable(schema: JsonObject): JsonObject {
  const { type, enum: values } = schema;
  if (typeof type !== "string") return { anyOf: [schema, { type: "null" }] };
  return { ...schema, type: [type, "null"], ...(Array.isArray(values) ? { enum: [...values, null] } : {}) };
}

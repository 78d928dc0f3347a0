import { isJsonObject, type JsonObject } from "../kit/json.ts";
import { sampleForPattern, UnsupportedPatternError } from "./pattern-sampler.ts";

export type SampleResult =
  | { readonly is: "value"; readonly value: unknown }
  | { readonly is: "problem"; readonly problem: string };

/** Schemas are untrusted and may expand without end, so the work is bounded. */
const SCHEMA_NODES_MAX = 2_000;
const SCHEMA_DEPTH_MAX = 24;
const LENGTH_MAX = 4_096;
/** Unsupported keywords that would make a sample invalid if ignored. */
const UNSUPPORTED_KEYWORDS = ["not", "if", "contains", "dependentRequired", "dependentSchemas", "$dynamicRef"] as const;

class SampleError extends Error {}

/** Current position: property name, depth, references followed, and item number. */
type SchemaPosition = {
  readonly name: string;
  readonly depth: number;
  readonly refs: readonly string[];
  readonly item: number;
};

export function sampleSchema(schema: unknown): SampleResult {
  try {
    return {
      is: "value",
      value: new SchemaSampler(schema).value(schema, { name: "value", depth: 0, refs: [], item: 0 }),
    };
  } catch (error) {
    if (error instanceof SampleError) return { is: "problem", problem: error.message };
    throw error;
  }
}

class SchemaSampler {
  readonly #root: unknown;
  #nodesLeft = SCHEMA_NODES_MAX;

  constructor(root: unknown) {
    this.#root = root;
  }

  value(schema: unknown, position: SchemaPosition): unknown {
    this.#nodesLeft -= 1;
    if (this.#nodesLeft < 0 || position.depth > SCHEMA_DEPTH_MAX)
      throw new SampleError("the schema is too large or endless");
    if (schema === true) return `sample ${position.name}`;
    if (!isJsonObject(schema)) throw new SampleError("a schema must be an object or true");
    for (const keyword of UNSUPPORTED_KEYWORDS) {
      if (schema[keyword] !== undefined) throw new SampleError(`the keyword ${keyword} is not simulated`);
    }
    if (schema["const"] !== undefined) return schema["const"];
    if (Array.isArray(schema["enum"])) return itemAt(schema["enum"], position.item);
    if (typeof schema["$ref"] === "string") return this.#reference(schema, schema["$ref"], position);
    if (Array.isArray(schema["allOf"])) return this.#all(schema, schema["allOf"], position);
    for (const keyword of ["anyOf", "oneOf"] as const) {
      const options = schema[keyword];
      if (Array.isArray(options)) return this.#any(omitKeyword(schema, keyword), options, position);
    }
    return this.#typed(schema, position);
  }

  #reference(schema: JsonObject, ref: string, position: SchemaPosition): unknown {
    if (position.refs.includes(ref)) throw new SampleError("the schema is too large or endless");
    const target = this.#resolve(ref);
    const rest = omitKeyword(schema, "$ref");
    return this.value(isJsonObject(target) ? mergeSchemas(target, rest) : target, {
      ...position,
      depth: position.depth + 1,
      refs: [...position.refs, ref],
    });
  }

  #resolve(ref: string): unknown {
    if (ref !== "#" && !ref.startsWith("#/")) throw new SampleError("only local references (#/…) are simulated");
    let found: unknown = this.#root;
    for (const part of ref.split("/").slice(1)) {
      const key = decodePercent(part).replaceAll("~1", "/").replaceAll("~0", "~");
      if (Array.isArray(found)) found = found[Number(key)];
      else found = isJsonObject(found) && Object.hasOwn(found, key) ? found[key] : undefined;
    }
    if (found === undefined) throw new SampleError("a reference leads nowhere");
    return found;
  }

  #all(schema: JsonObject, parts: readonly unknown[], position: SchemaPosition): unknown {
    let combined = omitKeyword(schema, "allOf");
    for (const part of parts) {
      const resolved = isJsonObject(part) && typeof part["$ref"] === "string" ? this.#resolve(part["$ref"]) : part;
      if (!isJsonObject(resolved)) continue;
      combined = mergeSchemas(combined, resolved);
    }
    return this.value(combined, { ...position, depth: position.depth + 1 });
  }

  /** The first option that can be sampled; recursive ones come last, or they would never end. */
  #any(rest: JsonObject, options: readonly unknown[], position: SchemaPosition): unknown {
    const isRecursive = (option: unknown) =>
      isJsonObject(option) && typeof option["$ref"] === "string" && position.refs.includes(option["$ref"]);
    const ordered = [...options.filter((option) => !isRecursive(option)), ...options.filter(isRecursive)];
    let problem = new SampleError("no alternative of anyOf can be satisfied");
    for (const option of ordered) {
      try {
        const schema = isJsonObject(option) ? mergeSchemas(rest, option) : option;
        return this.value(schema, { ...position, depth: position.depth + 1 });
      } catch (error) {
        if (!(error instanceof SampleError)) throw error;
        problem = error;
      }
    }
    throw problem;
  }

  #typed(schema: JsonObject, position: SchemaPosition): unknown {
    switch (schemaType(schema)) {
      case "object":
        return this.#object(schema, position);
      case "array":
        return this.#array(schema, position);
      case "integer":
        return sampleNumber(schema, 1, position.item);
      case "number":
        return sampleNumber(schema, undefined, position.item);
      case "boolean":
        return itemAt([true, false], position.item);
      case "null":
        return null;
      case "string":
        return sampleText(schema, position);
      default:
        throw new SampleError("an unknown type");
    }
  }

  #object(schema: JsonObject, position: SchemaPosition): unknown {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
    const required = stringItems(schema["required"]);
    const child = (name: string): SchemaPosition => ({ ...position, name, depth: position.depth + 1 });
    const entries = new Map<string, unknown>();
    for (const name of required) entries.set(name, this.value(propertySchema(schema, properties, name), child(name)));
    const minProperties = numberKeyword(schema, "minProperties") ?? 0;
    for (const name of Object.keys(properties)) {
      // A top-level schema without required properties still gets a full sample.
      const shown = required.length === 0 && position.depth === 0;
      if (entries.has(name) || (!shown && entries.size >= minProperties)) continue;
      try {
        entries.set(name, this.value(properties[name], child(name)));
      } catch (error) {
        if (!(error instanceof SampleError)) throw error;
      }
    }
    for (let extra = 1; entries.size < minProperties; extra += 1) {
      const name = `key_${extra}`;
      entries.set(name, this.value(propertySchema(schema, properties, name), child(name)));
    }
    return Object.fromEntries(entries);
  }

  #array(schema: JsonObject, position: SchemaPosition): unknown {
    const leading = Array.isArray(schema["prefixItems"]) ? schema["prefixItems"] : [];
    const least = numberKeyword(schema, "minItems") ?? 0;
    const most = numberKeyword(schema, "maxItems") ?? Number.POSITIVE_INFINITY;
    const items: unknown[] = [];
    for (const item of leading.slice(0, most)) items.push(this.value(item, { ...position, depth: position.depth + 1 }));
    const unique = schema["uniqueItems"] === true;
    const rest = schema["items"] ?? true;
    const child = (): SchemaPosition => ({ ...position, depth: position.depth + 1, item: unique ? items.length : 0 });
    while (items.length < least) items.push(this.value(rest, child()));
    if (items.length === 0 && most > 0 && rest !== false) {
      try {
        items.push(this.value(rest, child()));
      } catch (error) {
        // An empty array is valid too, and ends a recursive schema.
        if (!(error instanceof SampleError)) throw error;
      }
    }
    return items;
  }
}

function schemaType(schema: JsonObject): unknown {
  const type = schema["type"];
  if (Array.isArray(type)) return type.find((option) => option !== "null") ?? "null";
  if (type !== undefined) return type;
  const has = (...keywords: string[]) => keywords.some((keyword) => schema[keyword] !== undefined);
  if (has("properties", "required", "additionalProperties", "minProperties")) return "object";
  if (has("items", "prefixItems", "minItems", "maxItems", "uniqueItems")) return "array";
  if (has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf")) return "number";
  return "string";
}

function propertySchema(schema: JsonObject, properties: JsonObject, name: string): unknown {
  if (Object.hasOwn(properties, name)) return properties[name];
  return schema["additionalProperties"] ?? true;
}

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ["date-time", "2026-01-01T00:00:00Z"],
  ["date", "2026-01-01"],
  ["time", "12:00:00Z"],
  ["duration", "P1D"],
  ["email", "sample@example.com"],
  ["uri", "https://example.com/sample"],
  ["uuid", "00000000-0000-7000-8000-000000000000"],
  ["ipv4", "192.0.2.1"],
  ["ipv6", "2001:db8::1"],
  ["hostname", "example.com"],
]);

function sampleText(schema: JsonObject, position: SchemaPosition): string {
  const least = numberKeyword(schema, "minLength") ?? 0;
  const most = numberKeyword(schema, "maxLength") ?? Number.POSITIVE_INFINITY;
  if (least > LENGTH_MAX) throw new SampleError("minLength is too large");
  const pattern = schema["pattern"];
  const fixed = typeof pattern === "string" ? samplePattern(pattern) : FORMATS.get(schema["format"]);
  if (fixed !== undefined) {
    const length = [...fixed].length;
    if (length < least || length > most || position.item > 0)
      throw new SampleError("a pattern or format together with these limits is not simulated");
    return fixed;
  }
  const text = position.item === 0 ? `sample ${position.name}` : `${position.item + 1} sample ${position.name}`;
  const characters = [...text];
  while (characters.length < least) characters.push("x");
  return characters.slice(0, most).join("");
}

function samplePattern(pattern: string): string {
  try {
    return sampleForPattern(pattern);
  } catch (error) {
    if (!(error instanceof UnsupportedPatternError)) throw error;
    throw new SampleError(`a pattern with ${error.message} is not simulated`);
  }
}

/** The first of a few candidate numbers that meets all constraints. `step` is 1 for integers. */
function sampleNumber(schema: JsonObject, step: number | undefined, item: number): number {
  const unit = numberKeyword(schema, "multipleOf") ?? step;
  const least = numberKeyword(schema, "minimum");
  const above = numberKeyword(schema, "exclusiveMinimum");
  const most = numberKeyword(schema, "maximum");
  const below = numberKeyword(schema, "exclusiveMaximum");
  const low = Math.max(least ?? Number.NEGATIVE_INFINITY, above ?? Number.NEGATIVE_INFINITY);
  const high = Math.min(most ?? Number.POSITIVE_INFINITY, below ?? Number.POSITIVE_INFINITY);
  const stride = unit ?? 1;
  const candidates = [1, 0, low, high, (low + high) / 2, low + 1, high - 1];
  const onStride = candidates.flatMap((value) => [
    value,
    Math.ceil(value / stride) * stride,
    Math.floor(value / stride) * stride,
  ]);
  const tried = onStride.flatMap((value) => [value, value + stride, value - stride]);
  const fits = (value: number) =>
    Number.isFinite(value) &&
    value >= low &&
    value <= high &&
    value !== above &&
    value !== below &&
    (step === undefined || Number.isInteger(value)) &&
    (unit === undefined || Number.isInteger(value / unit));
  const first = tried.find(fits);
  if (first === undefined) throw new SampleError("no number keeps these limits");
  if (item === 0) return first;
  const other = [first + item * stride, first - item * stride].find(fits);
  if (other === undefined) throw new SampleError("too few different numbers");
  return other;
}

function itemAt(values: readonly unknown[], item: number): unknown {
  if (item >= values.length) throw new SampleError("too few different values");
  return values[item];
}

function mergeSchemas(base: JsonObject, more: JsonObject): JsonObject {
  const both: Record<string, unknown> = { ...base, ...more };
  if (isJsonObject(base["properties"]) && isJsonObject(more["properties"]))
    both["properties"] = { ...base["properties"], ...more["properties"] };
  const required = [...stringItems(base["required"]), ...stringItems(more["required"])];
  if (required.length > 0) both["required"] = [...new Set(required)];
  return both;
}

function omitKeyword(schema: JsonObject, keyword: string): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== keyword));
}

function numberKeyword(schema: JsonObject, keyword: string): number | undefined {
  const value = schema[keyword];
  return typeof value === "number" ? value : undefined;
}

function stringItems(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

import { z } from "zod";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";

/** A request with one field, and the same request without it, or with another value where the field is required. */
export type FieldCase = {
  /** Array indices are `[]`. */
  readonly path: string;
  readonly sent: JsonObject;
  readonly without: JsonObject;
};

/** Values for the field at a path that its schema alone does not tell; undefined: by the schema. */
export type Samples = (path: string) => readonly unknown[] | undefined;

/** One value of a schema with a field at `path`, and its counterpart. */
type Variation = { readonly path: string; readonly value: unknown; readonly other: unknown };

/** The counterpart of a value is a request without the object around it. */
const ABSENT = Symbol("absent");

/** A member that no schema names. */
const UNKNOWN = "x_unknown";
const REFS_MAX = 1;
/** A member of an object whose names callers choose. */
const NAME = "marked";
/** Schemas of such members that have fields of their own. */
const NESTING = ["$ref", "anyOf", "oneOf", "properties"];

/** Every field of a JSON schema at every depth, in each variant of its surroundings. */
function fieldCases(root: JsonObject, schema: JsonObject, samples: Samples): FieldCase[] {
  const walk = new SchemaWalk(root, samples);
  const cases = walk.variations(schema, "", []).flatMap(({ path, value, other }) => {
    const name = path.replace(/^\./, "");
    return name !== "" && isJsonObject(value) && isJsonObject(other)
      ? [{ path: name, sent: value, without: other }]
      : [];
  });
  const unique = new Map(cases.map((one) => [JSON.stringify([one.path, one.sent]), one]));
  return [...unique.values()];
}

/** The same for the schema that validates requests. */
export function casesOf(request: z.ZodType, samples: Samples): FieldCase[] {
  const schema: JsonObject = JSON.parse(
    JSON.stringify(z.toJSONSchema(request, { io: "input", unrepresentable: "any" })),
  );
  return fieldCases(schema, schema, samples);
}

class SchemaWalk {
  readonly #root: JsonObject;
  readonly #samples: Samples;

  constructor(root: JsonObject, samples: Samples) {
    this.#root = root;
    this.#samples = samples;
  }

  variations(schema: unknown, path: string, refs: readonly string[]): Variation[] {
    if (!isJsonObject(schema)) return [];
    const given = this.#samples(path.replace(/^\./, ""));
    if (given !== undefined) return pairs(given).map((pair) => ({ path, ...pair }));
    const ref = schema["$ref"];
    if (typeof ref === "string") {
      if (refs.filter((one) => one === ref).length > REFS_MAX) return [];
      return this.variations(this.#resolve(ref), path, [...refs, ref]);
    }
    const options = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])];
    if (options.length > 0) return options.flatMap((option) => this.variations(option, path, refs));
    const whole = this.#merged(schema);
    if (isJsonObject(whole["properties"])) return this.#objectVariations(whole, path, refs);
    const { additionalProperties: named } = whole;
    if (isJsonObject(named) && NESTING.some((keyword) => named[keyword] !== undefined))
      return this.#objectVariations(
        { properties: { [NAME]: named }, required: [NAME], additionalProperties: false },
        path,
        refs,
      );
    if (whole["items"] !== undefined && whole["items"] !== true) return this.#listVariations(whole, path, refs);
    return pairs(leafValues(whole)).map((pair) => ({ path, ...pair }));
  }

  #objectVariations(schema: JsonObject, path: string, refs: readonly string[]): Variation[] {
    const minimal = this.#minimalObject(schema, path, refs);
    const required = new Set(listOf(schema["required"]));
    const found: Variation[] = [];
    for (const [name, inner] of Object.entries(isJsonObject(schema["properties"]) ? schema["properties"] : {})) {
      const at = `${path}.${name}`;
      for (const { path: innerPath, value, other } of this.variations(inner, at, refs)) {
        const own = { ...minimal, [name]: value };
        const isOptional = !required.has(name);
        // An empty object can have a meaning of its own, so the field is compared with no object.
        const without = Object.keys(minimal).length === 0 && path !== "" ? ABSENT : minimal;
        if (isOptional && (innerPath === at || other === ABSENT))
          found.push({ path: innerPath, value: own, other: without });
        else if (other === ABSENT) found.push({ path: innerPath, value: own, other: minimal });
        else if (other !== undefined) found.push({ path: innerPath, value: own, other: { ...minimal, [name]: other } });
      }
    }
    const isOpen = schema["additionalProperties"] !== false;
    if (isOpen && path !== "")
      found.push({ path: `${path}.${UNKNOWN}`, value: { ...minimal, [UNKNOWN]: "marked" }, other: minimal });
    return found;
  }

  #listVariations(schema: JsonObject, path: string, refs: readonly string[]): Variation[] {
    const items = this.variations(schema["items"], `${path}[]`, refs);
    return items.map(({ path: at, value, other }) => ({
      path: at === `${path}[]` ? path : at,
      value: [value],
      other: other === undefined ? undefined : other === ABSENT ? [] : [other],
    }));
  }

  #minimalObject(schema: JsonObject, path: string, refs: readonly string[]): JsonObject {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
    const entries = listOf(schema["required"]).map((name) => [
      String(name),
      this.#minimal(properties[String(name)], `${path}.${String(name)}`, refs),
    ]);
    return Object.fromEntries(entries);
  }

  #minimal(schema: unknown, path: string, refs: readonly string[]): unknown {
    if (!isJsonObject(schema)) return "marked";
    const given = this.#samples(path.replace(/^\./, ""));
    if (given !== undefined) return given[0];
    const ref = schema["$ref"];
    if (typeof ref === "string") return refs.length > 12 ? {} : this.#minimal(this.#resolve(ref), path, [...refs, ref]);
    const [option] = [...listOf(schema["anyOf"]), ...listOf(schema["oneOf"])];
    if (option !== undefined) return this.#minimal(option, path, refs);
    const whole = this.#merged(schema);
    if (isJsonObject(whole["properties"])) return this.#minimalObject(whole, path, refs);
    const { additionalProperties: named } = whole;
    if (isJsonObject(named) && NESTING.some((keyword) => named[keyword] !== undefined))
      return { [NAME]: this.#minimal(named, `${path}.${NAME}`, refs) };
    if (whole["type"] === "array" || whole["items"] !== undefined)
      return whole["items"] === undefined ? [] : [this.#minimal(whole["items"], `${path}[]`, refs)];
    return leafValues(whole)[0];
  }

  /** With the properties of all its parts. */
  #merged(schema: JsonObject): JsonObject {
    const parts = listOf(schema["allOf"]);
    if (parts.length === 0) return schema;
    let { allOf: _, ...whole }: JsonObject = schema;
    for (const part of parts) {
      let resolved: unknown = part;
      while (isJsonObject(resolved) && typeof resolved["$ref"] === "string") resolved = this.#resolve(resolved["$ref"]);
      if (!isJsonObject(resolved)) continue;
      const inner = this.#merged(resolved);
      whole = {
        ...inner,
        ...whole,
        ...(isJsonObject(inner["properties"]) || isJsonObject(whole["properties"])
          ? { properties: { ...objectOf(inner["properties"]), ...objectOf(whole["properties"]) } }
          : {}),
        required: [...listOf(inner["required"]), ...listOf(whole["required"])],
      };
    }
    return whole;
  }

  #resolve(ref: string): unknown {
    const keys = ref.replace(/^#\/?/, "").split("/").filter(Boolean);
    return keys.reduce<unknown>((at, key) => (isJsonObject(at) ? at[decodeURIComponent(key)] : undefined), this.#root);
  }
}

/** Each value with a different one. */
function pairs(values: readonly unknown[]): { value: unknown; other: unknown }[] {
  return values.map((value, at) => ({
    value,
    other: values.length < 2 ? undefined : values[(at + 1) % values.length],
  }));
}

function leafValues(schema: JsonObject): readonly unknown[] {
  if (schema["const"] !== undefined) return [schema["const"]];
  const { enum: words, minimum, maximum, exclusiveMinimum } = schema;
  const type = Array.isArray(schema["type"]) ? schema["type"].find((one) => one !== "null") : schema["type"];
  if (Array.isArray(words)) return words.filter((word) => word !== null);
  switch (type) {
    case "boolean":
      return [true, false];
    case "integer":
    case "number": {
      const low = Number(minimum ?? exclusiveMinimum ?? 0);
      const high = Number(maximum ?? low + 100);
      const middle = type === "integer" ? Math.ceil(low + (high - low) / 4) : low + (high - low) / 4;
      return middle === high ? [middle] : [middle, type === "integer" ? middle + 1 : low + (high - low) / 2];
    }
    case "array":
      return [["marked"], ["changed"]];
    case "object":
      return [{ marked: "marked" }, { marked: "changed" }];
    case "null":
      return [];
    default:
      return ["marked", "changed"];
  }
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function objectOf(value: unknown): JsonObject {
  return isJsonObject(value) ? value : {};
}

import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";

/** One call of an operation of an OpenAPI document, made from its schemas and bent here and there. */
export type FuzzCase = {
  readonly operation: string;
  readonly method: string;
  readonly path: string;
  /** JSON text, or bytes that are none; undefined: no body. */
  readonly body: string | undefined;
};

type Operation = {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly parameters: readonly JsonObject[];
  readonly body: JsonObject | undefined;
};

const METHODS = new Set(["get", "post", "put", "patch", "delete"]);
const DEPTH_MAX = 6;
/** Ids and names of earlier responses that are used again. */
const KNOWN_MAX = 400;
const REUSED = /^(?:[a-z]+_[\w-]{6,}|[a-z][a-z0-9-]{2,30}|sandbox\/[\w-]+|[\w.+-]+@example\.eu)$/;

/** What breaks parsers, storage and comparisons. No address of another machine. */
const HOSTILE = [
  ...["null", "true", "-1", "0", "1e999", "9007199254740993", "-0", "1.5", "[]", "{}", "[[]]", "[null]"],
  ...['""', '"\\u0000"', '"\\ud800"', '"..%2f..%2fetc"', '"%00"', '"a\'b;--"', '"<script>x</script>"', '"\\u202e"'],
  ...['"__proto__"', '"constructor"', '{"__proto__":{"a":1}}', '{"constructor":1}', '"2026-02-30T25:61:61Z"'],
  ...['"http://127.0.0.1:1/x"', '"javascript:1"', '"9999999999999999999999"', '"-1"', '"NaN"', '"٣"', '"ﬀ"', '"é"'],
  ...[`"${"x".repeat(5000)}"`, `${"[".repeat(60)}${"]".repeat(60)}`, '{"a":{"b":{"c":{"d":[1,2,{"e":null}]}}}}'],
];
const HOSTILE_PARTS = ["%00", "%2e%2e%2f", "a b", "'", '"', "<x>", "x".repeat(3000), "-1", "%ff", "é", "*", "{}", "0"];

/** Generates the same calls from the same seed, if the responses are the same. */
export class SchemaFuzzer {
  readonly #operations: readonly Operation[];
  readonly #schemas: JsonObject;
  readonly #known: string[];
  #state: number;

  constructor(
    document: JsonObject,
    options: { readonly seed: number; readonly known: readonly string[]; readonly without?: ReadonlySet<string> },
  ) {
    this.#operations = operationsOf(document).filter(({ id }) => options.without?.has(id) !== true);
    const components = document["components"];
    this.#schemas = isJsonObject(components) && isJsonObject(components["schemas"]) ? components["schemas"] : {};
    this.#known = [...options.known];
    this.#state = options.seed >>> 0;
  }

  next(): FuzzCase {
    const { id, method, path, parameters, body } = this.#oneOf(this.#operations);
    const query: string[] = [];
    let filled = path;
    for (const parameter of parameters) {
      const name = String(parameter["name"]);
      if (parameter["in"] === "path") filled = filled.replace(`{${name}}`, this.#pathPart());
      else if (parameter["in"] === "query" && this.#chance(0.35))
        query.push(this.#queryPart(name, parameter["schema"]));
    }
    if (this.#chance(0.03)) query.push("unknown=1");
    const search = query.length === 0 ? "" : `?${query.join("&")}`;
    return {
      operation: id,
      method,
      path: `${filled}${search}`,
      body: body === undefined ? undefined : this.#bodyText(body),
    };
  }

  /** Takes the ids and names of a response, so that later calls reach what exists. */
  learn(value: unknown): void {
    if (typeof value === "string") {
      if (!REUSED.test(value) || this.#known.includes(value)) return;
      if (this.#known.length < KNOWN_MAX) this.#known.push(value);
      else this.#known[Math.floor(this.#random() * KNOWN_MAX)] = value;
    } else if (Array.isArray(value)) for (const item of value.slice(0, 5)) this.learn(item);
    else if (isJsonObject(value)) for (const member of Object.values(value)) this.learn(member);
  }

  #pathPart(): string {
    return this.#chance(0.8) ? encodeURIComponent(this.#oneOf(this.#known)) : this.#oneOf(HOSTILE_PARTS);
  }

  #queryPart(name: string, schema: unknown): string {
    const text = this.#chance(0.2) ? this.#oneOf(HOSTILE) : this.#text(schema, 0);
    const value = text.startsWith('"') ? text.slice(1, -1) : text;
    return `${encodeURIComponent(name)}=${encodeURIComponent(value)}`;
  }

  #bodyText(schema: JsonObject): string {
    if (this.#chance(0.03)) return this.#oneOf(["", "{", "[1,2", "nonsense", '{"a":1}{"b":2}', "\u0000"]);
    const text = this.#text(schema, 0);
    if (!this.#chance(0.03) || !text.startsWith("{")) return text;
    return text === "{}" ? '{"unknown":1}' : `${text.slice(0, -1)},"unknown":${this.#oneOf(HOSTILE)}}`;
  }

  /** JSON text that mostly fits the schema. */
  #text(given: unknown, depth: number): string {
    if (this.#chance(0.04) || depth > DEPTH_MAX) return this.#oneOf(HOSTILE);
    const schema = this.#resolve(given);
    const options = schema["oneOf"] ?? schema["anyOf"];
    if (Array.isArray(options)) return this.#text(this.#oneOf(options), depth + 1);
    if ("const" in schema) return JSON.stringify(schema["const"]);
    if (Array.isArray(schema["enum"])) return JSON.stringify(this.#oneOf(schema["enum"]));
    const { type } = schema;
    const one = Array.isArray(type)
      ? this.#oneOf(type)
      : (type ?? (schema["properties"] === undefined ? undefined : "object"));
    switch (one) {
      case "object":
        return this.#objectText(schema, depth);
      case "array":
        return this.#arrayText(schema, depth);
      case "string":
        return JSON.stringify(this.#string(schema));
      case "integer":
      case "number":
        return this.#number(schema, one);
      case "boolean":
        return this.#chance(0.5) ? "true" : "false";
      case "null":
        return "null";
      default:
        return this.#oneOf(HOSTILE);
    }
  }

  #resolve(given: unknown): JsonObject {
    if (!isJsonObject(given)) return {};
    const name = typeof given["$ref"] === "string" ? given["$ref"].split("/").at(-1) : undefined;
    if (name !== undefined) return this.#resolve(this.#schemas[name]);
    const { allOf, ...rest } = given;
    if (!Array.isArray(allOf)) return given;
    const parts = [rest, ...allOf.map((part) => this.#resolve(part))];
    const merged = (key: string) => Object.assign({}, ...parts.map((part) => part[key] ?? {}));
    const required = parts.flatMap((part) => (Array.isArray(part["required"]) ? part["required"] : []));
    return { ...Object.assign({}, ...parts), properties: merged("properties"), required };
  }

  #objectText(schema: JsonObject, depth: number): string {
    const properties = isJsonObject(schema["properties"]) ? schema["properties"] : {};
    const required = new Set<unknown>(Array.isArray(schema["required"]) ? schema["required"] : []);
    const members = Object.entries(properties)
      .filter(([name]) => this.#chance(required.has(name) ? 0.97 : 0.25 / (depth + 1)))
      .map(([name, member]) => `${JSON.stringify(name)}:${this.#text(member, depth + 1)}`);
    const { additionalProperties } = schema;
    if (isJsonObject(additionalProperties) && this.#chance(0.4))
      members.push(`${JSON.stringify(this.#oneOf(this.#known))}:${this.#text(additionalProperties, depth + 1)}`);
    return `{${members.join(",")}}`;
  }

  #arrayText(schema: JsonObject, depth: number): string {
    const least = typeof schema["minItems"] === "number" ? schema["minItems"] : 0;
    const length = least + Math.floor(this.#random() * 3);
    return `[${Array.from({ length }, () => this.#text(schema["items"], depth + 1)).join(",")}]`;
  }

  #string({ minLength, maxLength, format }: JsonObject): string {
    if (format === "date-time")
      return this.#oneOf(["2026-11-01T00:00:00Z", "1969-12-31T23:59:59.999Z", "9999-12-31T23:59:59Z"]);
    if (format === "uri") return this.#oneOf(["http://127.0.0.1:1/x", "https://127.0.0.1:1/", "data:,x"]);
    if (format === "email") return this.#oneOf(["ada@example.eu", "x@example.eu", "no-address"]);
    const least = typeof minLength === "number" ? minLength : 0;
    const most = typeof maxLength === "number" ? maxLength : 200;
    if (this.#chance(0.1))
      return "a".repeat(
        this.#oneOf([least, Math.max(0, least - 1), Math.min(most, 20_000), Math.min(most + 1, 20_000)]),
      );
    if (this.#chance(0.6)) return this.#oneOf(this.#known);
    return this.#oneOf([
      "1",
      "0.5",
      "12.34",
      "EUR",
      "30d",
      "2026-11",
      "hello",
      "*",
      "live",
      "127.0.0.1/32",
      "üñî",
      "1h",
    ]);
  }

  #number({ minimum, maximum, exclusiveMinimum }: JsonObject, type: "integer" | "number"): string {
    const from = Number(minimum ?? exclusiveMinimum ?? 0);
    const to = Number(maximum ?? 1000);
    const between = from + this.#random() * (Math.min(to, from + 1000) - from);
    return this.#oneOf([
      String(type === "integer" ? Math.round(between) : between),
      ...[from, to, from - 1, to + 1].filter(Number.isFinite).map(String),
    ]);
  }

  #oneOf<T>(list: readonly T[]): T {
    const item = list[Math.floor(this.#random() * list.length)];
    if (item === undefined && list.length === 0) throw new Error("nothing to choose from");
    return item as T;
  }

  #chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** mulberry32 */
  #random(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }
}

function operationsOf({ paths }: JsonObject): Operation[] {
  if (!isJsonObject(paths)) return [];
  return Object.entries(paths).flatMap(([path, item]) =>
    Object.entries(isJsonObject(item) ? item : {}).flatMap(([method, operation]) =>
      METHODS.has(method) && isJsonObject(operation) ? [operationOf(path, method, operation)] : [],
    ),
  );
}

function operationOf(path: string, method: string, operation: JsonObject): Operation {
  const { operationId, parameters, requestBody } = operation;
  const content = isJsonObject(requestBody) && isJsonObject(requestBody["content"]) ? requestBody["content"] : {};
  const json = content["application/json"];
  return {
    id: String(operationId),
    method: method.toUpperCase(),
    path,
    parameters: Array.isArray(parameters) ? parameters.filter(isJsonObject) : [],
    body: isJsonObject(json) && isJsonObject(json["schema"]) ? json["schema"] : undefined,
  };
}

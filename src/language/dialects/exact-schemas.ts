import { isJsonObject, type JsonObject, type ParsedBody } from "../../kit/json.ts";
import { mayLosePrecision, parsePreciseJson } from "../../kit/lossless-json.ts";

/** The way to a schema in a body: names of members, and `EACH` for all items of a list. */
type SchemaPath = readonly [member: string, ...inside: string[]];

const EACH = "*";

const CHAT: readonly SchemaPath[] = [
  ["tools", EACH, "function", "parameters"],
  ["response_format", "json_schema", "schema"],
];
const MESSAGES: readonly SchemaPath[] = [
  ["tools", EACH, "input_schema"],
  ["output_config", "format", "schema"],
  ["output_format", "schema"],
];
const RESPONSES: readonly SchemaPath[] = [
  ["tools", EACH, "parameters"],
  ["tools", EACH, "tools", EACH, "parameters"],
  ["text", "format", "schema"],
];
const SCHEMA_PATHS = { chat: CHAT, messages: MESSAGES, responses: RESPONSES };

/**
 * What a body says, the numbers in its schemas with all the digits that they came with: an id that a schema allows must
 * not become another one on the way. Numbers elsewhere stay numbers, and so do those that lose nothing.
 */
export function withExactSchemas(body: ParsedBody, dialect: keyof typeof SCHEMA_PATHS): JsonObject {
  let { value } = body;
  for (const [member, ...inside] of SCHEMA_PATHS[dialect]) {
    const span = body.members.get(member);
    if (span === undefined) continue;
    const text = body.text.slice(span.valueStart, span.valueEnd);
    if (mayLosePrecision(text))
      value = { ...value, [member]: replaceAt(value[member], parsePreciseJson(text), inside) };
  }
  return value;
}

/** The value with what is exact put in the places that the way leads to, where there is an object now. */
function replaceAt(value: unknown, exact: unknown, [next, ...rest]: readonly string[]): unknown {
  if (next === undefined) return isJsonObject(value) ? exact : value;
  if (next === EACH) {
    if (!Array.isArray(value) || !Array.isArray(exact)) return value;
    return value.map((item, at) => replaceAt(item, exact[at], rest));
  }
  if (!isJsonObject(value) || !isJsonObject(exact) || !Object.hasOwn(value, next)) return value;
  return { ...value, [next]: replaceAt(value[next], exact[next], rest) };
}

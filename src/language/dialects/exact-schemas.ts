import { isJsonObject, type JsonObject, type ParsedBody } from "../../kit/json.ts";
import { mayLosePrecision, parsePreciseJson } from "../../kit/lossless-json.ts";

/** Path of a schema in a request body; `EACH` stands for every array item. */
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
 * The parsed body with lossless numbers inside its JSON schemas, so that large ids in an enum keep all digits. Other
 * numbers stay plain.
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

/** Replaces objects on the path by their lossless counterparts. */
function replaceAt(value: unknown, exact: unknown, [next, ...rest]: readonly string[]): unknown {
  if (next === undefined) return isJsonObject(value) ? exact : value;
  if (next === EACH) {
    if (!Array.isArray(value) || !Array.isArray(exact)) return value;
    return value.map((item, at) => replaceAt(item, exact[at], rest));
  }
  if (!isJsonObject(value) || !isJsonObject(exact) || !Object.hasOwn(value, next)) return value;
  return { ...value, [next]: replaceAt(value[next], exact[next], rest) };
}

import { invalidValue } from "../../../contract/faults.ts";
import { isJsonObject, type JsonObject, type ParsedBody } from "../../../kit/json.ts";
import { mayLosePrecision, parseLosslessJson, parsePreciseJson } from "../../../kit/lossless-json.ts";
import { ROUTING_HINT_FIELDS } from "../../canon/routing-hints.ts";

/** Members whose values belong to the caller: their names and numbers stay as they are. */
const FREE_FORM: ReadonlySet<string> = new Set([
  "args",
  "response",
  "parameters",
  "parametersJsonSchema",
  "responseJsonSchema",
  "responseSchema",
  "labels",
  "partMetadata",
]);
/** Of these, values that are sent on as text keep every digit; in schemas only numbers that a double cannot hold do. */
const TEXT_VALUES: ReadonlySet<string> = new Set(["args", "response"]);

/** Lists that are accepted with their only item in place of the list, as in Google's own examples. */
const LISTS: ReadonlySet<string> = new Set(["parts", "contents"]);

const OWN_FIELDS: ReadonlySet<string> = new Set(ROUTING_HINT_FIELDS);

/** A number that JSON.parse and stringify would change. */
const LOSSY_NUMBER = /[[:,]\s*-?(?:\d{16,}|\d[\d.]*[eE]|\d+\.\d*0[\s,\]}]|\d+\.\d{16,})/;

/** The body with camel-case names, which this format accepts beside snake case, and with exact numbers in free-form values. */
export function withCamelCase({ value, text }: Pick<ParsedBody, "value" | "text">): JsonObject {
  const lossless = LOSSY_NUMBER.test(text) ? parseLosslessJson(text) : value;
  const precise = mayLosePrecision(text) ? parsePreciseJson(text) : value;
  return renamed(value, { lossless, precise }, "");
}

type ExactValues = { readonly lossless: unknown; readonly precise: unknown };

function renamed(object: JsonObject, exact: ExactValues, path: string): JsonObject {
  const result: Record<string, unknown> = {};
  for (const [name, inner] of Object.entries(object)) {
    const isOwn = path === "" && OWN_FIELDS.has(name);
    const camel = isOwn ? name : camelCase(name);
    const at = path === "" ? camel : `${path}.${camel}`;
    if (Object.hasOwn(result, camel))
      throw invalidValue(at, `is sent in two spellings, ${camel} and ${snakeCase(camel)}`);
    const below = { lossless: memberOf(exact.lossless, name), precise: memberOf(exact.precise, name) };
    // Defined, because a member may be named __proto__.
    Object.defineProperty(result, camel, {
      value: isOwn ? inner : renamedValue(camel, inner, below, at),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return result;
}

function renamedValue(name: string, value: unknown, exact: ExactValues, path: string): unknown {
  if (FREE_FORM.has(name)) return TEXT_VALUES.has(name) ? exact.lossless : exact.precise;
  if (LISTS.has(name) && isJsonObject(value)) return [renamed(value, exact, `${path}.0`)];
  if (Array.isArray(value))
    return value.map((item, at) =>
      isJsonObject(item)
        ? renamed(item, { lossless: itemOf(exact.lossless, at), precise: itemOf(exact.precise, at) }, `${path}.${at}`)
        : item,
    );
  return isJsonObject(value) ? renamed(value, exact, path) : value;
}

function memberOf(value: unknown, name: string): unknown {
  return isJsonObject(value) && Object.hasOwn(value, name) ? value[name] : undefined;
}

function itemOf(value: unknown, at: number): unknown {
  return Array.isArray(value) ? value[at] : undefined;
}

const snakeCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Names of several words that the format has. Any other name stays as it was sent, so that a refusal names it. */
const CAMEL_NAMES = [
  ..."generateContentRequest systemInstruction toolConfig safetySettings cachedContent serviceTier".split(" "),
  ..."generationConfig functionDeclarations functionCall functionResponse functionCallingConfig".split(" "),
  ..."allowedFunctionNames includeServerSideToolInvocations retrievalConfig inlineData fileData".split(" "),
  ..."mimeType displayName fileUri thoughtSignature videoMetadata mediaResolution partMetadata".split(" "),
  ..."executableCode codeExecutionResult toolCall toolResponse partialArgs willContinue".split(" "),
  ..."parametersJsonSchema responseJsonSchema responseSchema topP topK candidateCount".split(" "),
  ..."maxOutputTokens stopSequences presencePenalty frequencyPenalty responseLogprobs".split(" "),
  ..."responseMimeType responseFormat responseModalities speechConfig thinkingConfig imageConfig".split(" "),
  ..."includeThoughts thinkingBudget thinkingLevel googleSearch googleSearchRetrieval codeExecution".split(" "),
  ..."urlContext googleMaps fileSearch computerUse mcpServers enterpriseWebSearch".split(" "),
  ..."taskType outputDimensionality".split(" "),
];
const CAMEL_BY_SNAKE: ReadonlyMap<string, string> = new Map(CAMEL_NAMES.map((name) => [snakeCase(name), name]));

const camelCase = (name: string) => CAMEL_BY_SNAKE.get(name) ?? name;

import { expect, test } from "vitest";
import { GenerateContentRequest } from "../../src/contract/schemas/gemini.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { casesOf } from "../support/field-cases.ts";
import { TEXT_COLUMNS } from "../support/field-columns.ts";
import { type FieldColumn, fieldMatrix, figuresOf, silentFields } from "../support/field-outcomes.ts";

const SCHEMAS = ["a", "b"].map((name) => ({ type: "OBJECT", properties: { [name]: { type: "STRING" } } }));
/** Values that a schema cannot tell. */
const SAMPLES: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/inlineData\.mimeType$/, ["image/png", "image/gif"]],
  [/inlineData\.data$/, ["aGVsbG8=", "aGVsbG8h"]],
  [/fileData\.mimeType$/, ["image/png", "image/gif"]],
  [/fileData\.fileUri$/, ["https://example.eu/a.png", "https://example.eu/b.png"]],
  [/\.args$/, [{ a: 1 }, { a: 2 }]],
  [/functionResponse\.response$/, [{ a: 1 }, { output: "marked" }]],
  [/(functionCall|functionResponse)\.id$/, ["call_a", "call_b"]],
  [/(functionCall|functionResponse|functionDeclarations\[\])\.name$/, ["f", "g"]],
  [/(parameters|[sS]chema)$/, SCHEMAS],
  [/functionDeclarations\[\]\.response$/, SCHEMAS],
  [/behavior$/, ["NON_BLOCKING"]],
  [/allowedFunctionNames$/, [["f"], ["g"], ["f", "g"]]],
  [/thoughtSignature$/, ["c2lnbmVk", "c2lnbmVl"]],
  [/functionCallingConfig\.mode$/, ["AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED", "NOVEL"]],
  [/thinkingLevel$/, ["LOW", "high", "MINIMAL", "THINKING_LEVEL_UNSPECIFIED", "NOVEL"]],
  [/thinkingBudget$/, [1024, 20_000, 0, -1]],
  [/maxOutputTokens$/, [900, 901]],
  [/responseMimeType$/, ["application/json", "text/plain", "text/x.enum"]],
  [/responseModalities$/, [["TEXT"], ["AUDIO"]]],
  [/mediaResolution$/, ["MEDIA_RESOLUTION_LOW"]],
  [/safetySettings\[\]\.threshold$/, ["BLOCK_NONE", "BLOCK_LOW_AND_ABOVE"]],
  [/^serviceTier$/, ["flex", "priority"]],
  [/stopSequences$/, [["END"], ["STOP"]]],
];

const TOOLS = [{ functionDeclarations: ["f", "g"].map((name) => ({ name })) }];

const partsOf = (content: JsonObject) => (Array.isArray(content["parts"]) ? content["parts"] : []).filter(isJsonObject);

/** Calls get results and results get calls, so that only the field under test decides. */
function complete(body: JsonObject, _column: FieldColumn, path: string): JsonObject {
  const contents: JsonObject[] = [{ role: "user", parts: [{ text: "Hello" }] }];
  let needsTools = path.startsWith("toolConfig");
  for (const content of (Array.isArray(body["contents"]) ? body["contents"] : []).filter(isJsonObject)) {
    const parts = content["parts"] === undefined ? [{ text: "So." }] : partsOf(content);
    const results = parts.flatMap(({ functionResponse }) => (isJsonObject(functionResponse) ? [functionResponse] : []));
    const calls = parts.flatMap(({ functionCall }) => (isJsonObject(functionCall) ? [functionCall] : []));
    const isModel =
      calls.length > 0 || parts.some((part) => part["thought"] !== undefined || part["thoughtSignature"] !== undefined);
    if (results.length > 0)
      contents.push({
        role: "model",
        parts: results.map(({ id, name }) => ({
          functionCall: { ...(id === undefined ? {} : { id }), name, args: {} },
        })),
      });
    // Models that reason do not return their thoughts alone.
    const spoken = parts.map((part) => (isModel && calls.length === 0 ? { text: "So.", ...part } : part));
    contents.push(isModel ? { role: "model", ...content, parts: spoken } : { ...content, parts });
    if (calls.length > 0)
      contents.push({
        role: "user",
        parts: calls.map(({ id, name }) => ({
          functionResponse: { ...(id === undefined ? {} : { id }), name, response: { output: "done" } },
        })),
      });
    needsTools ||= calls.length > 0 || results.length > 0;
  }
  contents.push({ role: "user", parts: [{ text: "And?" }] });
  return {
    ...body,
    contents,
    ...configFor(body, path),
    ...(needsTools && body["tools"] === undefined ? { tools: TOOLS } : {}),
  };
}

/** A schema needs its format, and names need a mode. */
function configFor({ generationConfig, toolConfig }: JsonObject, path: string): JsonObject {
  if (/^generationConfig\.response(Json)?Schema/.test(path))
    return { generationConfig: { responseMimeType: "application/json", ...Object(generationConfig) } };
  const calling = isJsonObject(toolConfig) ? toolConfig["functionCallingConfig"] : undefined;
  if (path.endsWith("allowedFunctionNames"))
    return { toolConfig: { functionCallingConfig: { mode: "ANY", ...Object(calling) } } };
  return {};
}

const CASES = casesOf(GenerateContentRequest, (path) => SAMPLES.find(([pattern]) => pattern.test(path))?.[1]);
const { invoke: _, ...COLUMNS_OF_GEMINI } = TEXT_COLUMNS;
const SURFACE = {
  name: "gemini",
  ownFormat: "gemini",
  url: ({ model }: FieldColumn) => `/v1beta/models/${model}:generateContent`,
  complete,
} as const;

test("PARAM-07 GEM-01 no field of a generateContent request is dropped silently, at any depth and on any adapter", {
  timeout: 900_000,
}, async () => {
  const results = await fieldMatrix(SURFACE, Object.values(COLUMNS_OF_GEMINI), CASES);
  process.stdout.write(`gemini: ${figuresOf(results)}\n`);
  expect(silentFields(results)).toEqual([]);
});

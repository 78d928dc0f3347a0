import { expect, test } from "vitest";
import { ResponsesRequest } from "../../src/contract/schemas/responses.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { casesOf } from "../support/field-cases.ts";
import { TEXT_COLUMNS } from "../support/field-columns.ts";
import { type FieldColumn, fieldMatrix, figuresOf, silentFields } from "../support/field-outcomes.ts";

const SCHEMAS = ["a", "b"].map((name) => ({ type: "object", properties: { [name]: { type: "string" } } }));
const OTHER_SCHEMA = { type: "object", properties: { c: { type: "string" } } };
/** Values that a schema cannot tell. */
const SAMPLES: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/\.image_url$/, ["data:image/png;base64,iVBORw0KGgo=", "data:image/png;base64,iVBORw0KGgp="]],
  [/\.detail$/, ["low", "high"]],
  [/\.file_data$/, ["data:application/pdf;base64,JVBERi0xLjQK", "data:application/pdf;base64,JVBERi0xLjUK"]],
  [/\.file_url$/, ["https://example.eu/a.pdf", "https://example.eu/b.pdf"]],
  [/\.filename$/, ["marked.pdf", "changed.pdf"]],
  [/^input\[\]\.arguments$/, ['{"a":1}', '{"a":2}']],
  [/^input\[\]\.call_id$/, ["call_a", "call_b"]],
  [/^input\[\]\.role$/, ["user", "assistant", "system", "developer"]],
  [/^input\[\]\.name$/, ["f", "g"]],
  [/(parameters|format\.schema)$/, SCHEMAS],
  [/^tools\[\](\.tools\[\])?\.name$/, ["f", "g"]],
  [/^tool_choice\.name$/, ["f", "g"]],
  [/^tool_choice\.tools\[\]\.name$/, ["f", "g"]],
  [/^tool_choice\.tools\[\]\.type$/, ["function"]],
  [/\.format\.type$/, ["grammar", "text"]],
  [/^max_output_tokens$/, [70, 71]],
  [/^(previous_response_id|conversation|background|store)$/, []],
  [/^include$/, [["reasoning.encrypted_content"], ["file_search_call.results"], ["novel"]]],
];

const TOOLS = ["f", "g"].map((name) => ({
  type: "function",
  name,
  parameters: { type: "object", properties: {} },
  strict: false,
}));
const WITH_TOOLS = ["tool_choice", "parallel_tool_calls"];
const CALL_TYPES: readonly unknown[] = ["function_call", "custom_tool_call"];
const OUTPUT_TYPES: Readonly<Record<string, string>> = {
  function_call_output: "function_call",
  custom_tool_call_output: "custom_tool_call",
};

/** Calls get results and results get calls, so that only the field under test decides. */
function complete(body: JsonObject, { model }: FieldColumn, path: string): JsonObject {
  const input: JsonObject[] = [{ role: "user", content: "Hello" }];
  let needsTools = WITH_TOOLS.some((name) => path.startsWith(name));
  for (const item of (Array.isArray(body["input"]) ? body["input"] : []).filter(isJsonObject)) {
    const { type, call_id } = item;
    const called = OUTPUT_TYPES[String(type)];
    if (called === "function_call") input.push({ type: called, call_id, name: "f", arguments: "{}" });
    if (called === "custom_tool_call") input.push({ type: called, call_id, name: "f", input: "x" });
    input.push(item);
    if (CALL_TYPES.includes(type)) input.push({ type: `${String(type)}_output`, call_id, output: "done" });
    if (type === "reasoning") input.push({ type: "message", role: "assistant", content: "So." });
    needsTools ||= called !== undefined || CALL_TYPES.includes(type);
  }
  input.push({ role: "user", content: "And?" });
  const tools =
    body["tools"] === undefined ? (needsTools ? { tools: TOOLS } : {}) : { tools: withParameters(body["tools"]) };
  const stream = path.startsWith("stream_options") ? { stream: true } : {};
  return {
    store: false,
    ...body,
    model,
    input: typeof body["input"] === "string" ? body["input"] : input,
    ...tools,
    ...stream,
  };
}

/** Strictness matters for functions with parameters. */
function withParameters(tools: unknown): unknown {
  if (!Array.isArray(tools)) return tools;
  return tools.map((tool) => {
    if (tool.type === "namespace") return { ...tool, tools: withParameters(tool.tools) };
    return tool.type === "function" && tool.parameters === undefined ? { ...tool, parameters: OTHER_SCHEMA } : tool;
  });
}

const CASES = casesOf(ResponsesRequest, (path) => SAMPLES.find(([pattern]) => pattern.test(path))?.[1]).filter(
  ({ path }) => path !== "model",
);
const { invoke: _, ...COLUMNS_OF_RESPONSES } = TEXT_COLUMNS;
const COLUMNS = Object.values(COLUMNS_OF_RESPONSES);
const SURFACE = { name: "responses", url: "/v1/responses", ownFormat: "responses", complete } as const;

test("PARAM-07 no field of a responses request is dropped silently, at any depth and on any adapter", {
  timeout: 900_000,
}, async () => {
  const results = await fieldMatrix(SURFACE, COLUMNS, CASES);
  process.stdout.write(`responses: ${figuresOf(results)}\n`);
  expect(silentFields(results)).toEqual([]);
});

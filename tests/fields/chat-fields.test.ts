import { expect, test } from "vitest";
import { ChatRequest } from "../../src/contract/schemas/chat.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { casesOf } from "../support/field-cases.ts";
import { TEXT_COLUMNS } from "../support/field-columns.ts";
import { type FieldColumn, fieldMatrix, silentFields } from "../support/field-outcomes.ts";

const PNG = "data:image/png;base64,iVBORw0KGgo=";
const PDF = "data:application/pdf;base64,JVBERi0xLjQK";
const SCHEMAS = ["a", "b"].map((name) => ({ type: "object", properties: { [name]: { type: "string" } } }));
/** Values that a schema cannot tell. */
const SAMPLES: Readonly<Record<string, readonly unknown[]>> = {
  "messages[].content[].image_url.url": [PNG, "data:image/png;base64,iVBORw0KGgp="],
  "messages[].content[].image_url.detail": ["low", "high"],
  "messages[].content[].input_audio.data": ["UklGRg==", "UklGRh=="],
  "messages[].content[].input_audio.format": ["wav", "mp3"],
  "messages[].content[].file.file_data": [PDF, "data:application/pdf;base64,JVBERi0xLjUK"],
  "messages[].content[].file.filename": ["marked.pdf", "changed.pdf"],
  "messages[].tool_calls[].function.arguments": ['{"a":1}', '{"a":2}'],
  "messages[].tool_calls[].function.name": ["f", "g"],
  "messages[].tool_calls[].id": ["call_a", "call_b"],
  "messages[].tool_call_id": ["call_a", "call_b"],
  "messages[].reasoning_details[].format": ["anthropic-claude-v1", "google-gemini-v1", "openai-responses-v1"],
  "tools[].function.name": ["f", "g"],
  "tools[].function.parameters": SCHEMAS,
  "tool_choice.function.name": ["f", "g"],
  allowed_tools: [["f"], ["g"]],
  "response_format.json_schema.schema": SCHEMAS,
  seed: [7, 8],
  max_tokens: [70, 71],
  max_completion_tokens: [70, 71],
  "thinking.budget_tokens": [1024, 30_000],
  "reasoning.max_tokens": [1024, 30_000],
  stop: ["END", ["END", "STOP"]],
};

const TOOLS = ["f", "g"].map((name) => ({
  type: "function",
  function: { name, parameters: { type: "object", properties: {} } },
}));
const WITH_TOOLS = ["tool_choice", "parallel_tool_calls", "allowed_tools"];

/** Calls get results and results get calls, so that only the field under test decides. */
function complete(body: JsonObject, { model }: FieldColumn, path: string): JsonObject {
  const messages: JsonObject[] = [{ role: "user", content: "Hello" }];
  let needsTools = WITH_TOOLS.some((name) => path.startsWith(name));
  for (const message of (Array.isArray(body["messages"]) ? body["messages"] : []).filter(isJsonObject)) {
    const calls = Array.isArray(message["tool_calls"]) ? message["tool_calls"] : [];
    if (message["role"] === "tool") {
      const call = { id: message["tool_call_id"], type: "function", function: { name: "f", arguments: "{}" } };
      messages.push({ role: "assistant", content: null, tool_calls: [call] }, message);
      needsTools = true;
    } else messages.push(message["role"] === "assistant" ? { content: "Hi.", ...message } : message);
    for (const call of calls) messages.push({ role: "tool", tool_call_id: call.id, content: "done" });
    needsTools ||= calls.length > 0;
  }
  messages.push({ role: "user", content: "And?" });
  const tools = needsTools && body["tools"] === undefined ? { tools: TOOLS } : {};
  return { ...body, model, messages, ...tools, ...(path.startsWith("stream_options") ? { stream: true } : {}) };
}

const CASES = casesOf(ChatRequest, (path) => SAMPLES[path]).filter(({ path }) => path !== "model");
const { invoke: _, ...COLUMNS_OF_CHAT } = TEXT_COLUMNS;
const COLUMNS = Object.values(COLUMNS_OF_CHAT);
const SURFACE = { name: "chat", ownFormat: "chat", url: "/v1/chat/completions", complete } as const;

test("PARAM-07 no field of a chat request is dropped silently, at any depth and on any adapter", {
  timeout: 900_000,
}, async () => {
  const results = await fieldMatrix(SURFACE, COLUMNS, CASES);
  expect(silentFields(results)).toEqual([]);
});

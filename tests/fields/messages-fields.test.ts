import { expect, test } from "vitest";
import { MessagesRequest } from "../../src/contract/schemas/messages.ts";
import { isJsonObject, type JsonObject } from "../../src/kit/json.ts";
import { casesOf } from "../support/field-cases.ts";
import { TEXT_COLUMNS } from "../support/field-columns.ts";
import { type FieldColumn, fieldMatrix, figuresOf, silentFields } from "../support/field-outcomes.ts";

const SCHEMAS = ["a", "b"].map((name) => ({ type: "object", properties: { [name]: { type: "string" } } }));
const MARKED = ["marked", "changed"];
/** Values that a schema cannot tell. */
const SAMPLES: readonly (readonly [RegExp, readonly unknown[]])[] = [
  [/source\.media_type$/, ["image/png", "image/gif"]],
  [/source\.data$/, ["aGVsbG8=", "aGVsbG8h"]],
  [/source\.url$/, ["https://example.eu/a.png", "https://example.eu/b.png"]],
  [/cache_control\.ttl$/, ["1h", "5m"]],
  [/cache_control\.type$/, ["ephemeral"]],
  [/^messages\[\]\.content\[\]\.input$/, [{ a: 1 }, { a: 2 }]],
  [/(input_schema|format\.schema)$/, SCHEMAS],
  [/^messages\[\]\.content\[\]\.(id|tool_use_id)$/, ["toolu_a", "toolu_b"]],
  [/^messages\[\]\.content\[\]\.name$/, ["f", "g"]],
  [/^tools\[\]\.name$/, ["f", "g"]],
  [/^tool_choice\.name$/, ["f"]],
  [/\.signature$/, ["c2lnbmVk", "c2lnbmVl"]],
  [/^tools\[\]\.type$/, ["custom"]],
  [/^tool_choice\.type$/, ["auto", "any", "none"]],
  [/^thinking\.type$/, ["enabled", "adaptive", "disabled"]],
  [/^thinking\.budget_tokens$/, [1024, 30_000]],
  [/^output_config\.effort$/, ["low", "high"]],
  [/^output_config\.format\.type$/, ["json_schema"]],
  [/^max_tokens$/, [9000, 9001]],
  [/^metadata$/, [{ user_id: "marked" }]],
  [/^stop_sequences$/, [["END"], ["STOP"]]],
  [/^system$/, MARKED],
];

const TOOLS = ["f", "g"].map((name) => ({ name, input_schema: { type: "object", properties: {} } }));
const ASSISTANT_BLOCKS: readonly unknown[] = ["tool_use", "thinking", "redacted_thinking"];

/** Calls get results and results get calls, so that only the field under test decides. */
function complete(body: JsonObject, { model }: FieldColumn, path: string): JsonObject {
  const messages: JsonObject[] = [{ role: "user", content: "Hello" }];
  for (const message of (Array.isArray(body["messages"]) ? body["messages"] : []).filter(isJsonObject)) {
    const blocks = (Array.isArray(message["content"]) ? message["content"] : []).filter(isJsonObject);
    const [block] = blocks;
    const isOwn = ASSISTANT_BLOCKS.includes(block?.["type"]);
    const results = blocks.filter(({ type }) => type === "tool_result");
    const uses = results.map(({ tool_use_id: id }) => ({ type: "tool_use", id, name: "f", input: {} }));
    if (uses.length > 0) messages.push({ role: "assistant", content: uses });
    messages.push(isOwn ? { ...message, role: "assistant", content: assistantBlocks(blocks, path) } : message);
    const calls = blocks.filter(({ type }) => type === "tool_use");
    if (calls.length > 0)
      messages.push({
        role: "user",
        content: calls.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "done" })),
      });
  }
  messages.push({ role: "user", content: "And?" });
  const needsTools = path.startsWith("tool_choice") || JSON.stringify(messages).includes("tool_use");
  return {
    max_tokens: 32_000,
    ...body,
    ...choiceFor(body, path),
    model,
    messages,
    ...(needsTools && body["tools"] === undefined ? { tools: TOOLS } : {}),
  };
}

/** A name belongs to the choice of one tool. */
function choiceFor({ tool_choice: choice }: JsonObject, path: string): JsonObject {
  return path === "tool_choice.name" && isJsonObject(choice)
    ? { tool_choice: { name: "g", ...choice, type: "tool" } }
    : {};
}

/** Signed, so that Claude's own reasoning is forwarded. */
function assistantBlocks(blocks: readonly JsonObject[], path: string): readonly JsonObject[] {
  const isReasoning = blocks.some(({ type }) => type !== "tool_use");
  const signed = blocks.map((block) =>
    block["type"] === "thinking" && !path.endsWith(".signature") ? { signature: "c2lnbmVk", ...block } : block,
  );
  return isReasoning ? [...signed, { type: "text", text: "So." }] : signed;
}

const CASES = casesOf(MessagesRequest, (path) => SAMPLES.find(([pattern]) => pattern.test(path))?.[1]).filter(
  ({ path }) => path !== "model",
);
const { chat, strictChat, messages, gemini, nova, responses, invoke } = TEXT_COLUMNS;
const COLUMNS = [chat, strictChat, messages, gemini, nova, responses, invoke];
const SURFACE = { name: "messages", url: "/v1/messages", ownFormat: "messages", complete } as const;

test("PARAM-07 no field of a messages request is dropped silently, at any depth and on any adapter", {
  timeout: 900_000,
}, async () => {
  const results = await fieldMatrix(SURFACE, COLUMNS, CASES);
  process.stdout.write(`messages: ${figuresOf(results)}\n`);
  expect(silentFields(results)).toEqual([]);
});

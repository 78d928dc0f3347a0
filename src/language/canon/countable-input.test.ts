import { expect, test } from "vitest";
import { ChatRequest } from "../../contract/schemas/chat.ts";
import { decodeRequest } from "../dialects/chat/client/request.ts";
import { countableInput } from "./countable-input.ts";
import type { ImagePart, Part } from "./parts.ts";
import { TOKENS_PER_MEDIA, TOKENS_PER_TURN } from "./tokens.ts";

const callOf = (more: object) => decodeRequest(ChatRequest.parse({ model: "a/b", ...more }));

test("MSG-03 every text of a call is counted: turns, reasoning, tool calls and results, tools, the reply schema", () => {
  const schema = { type: "object" };
  const call = callOf({
    messages: [
      { role: "user", content: "said" },
      {
        role: "assistant",
        refusal: "refused",
        reasoning_details: [
          { type: "reasoning.text", text: "thought", signature: "s" },
          { type: "reasoning.encrypted", data: "encrypted" },
        ],
        tool_calls: [{ id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } }],
      },
      { role: "tool", tool_call_id: "c", content: "result" },
    ],
    tools: [
      { type: "function", function: { name: "f", description: "does", parameters: schema } },
      { type: "function", function: { name: "g" } },
    ],
    response_format: { type: "json_schema", json_schema: { name: "s", schema: { title: "answer" } } },
  });
  const { texts, otherTokens } = countableInput(call);
  const words = ["said", "thought", "refused", "f", '{"a":1}', "result"];
  const tools = ["f", "does", '{"type":"object"}', "g", "", "{}"];
  expect(texts.toSorted()).toEqual([...words, ...tools, '{"title":"answer"}'].toSorted());
  expect(otherTokens).toBe(3 * TOKENS_PER_TURN);
});

test("MSG-03 media counts at its fixed estimate, also inside a tool result", () => {
  const image: ImagePart = { is: "image", source: { is: "url", url: "a" } };
  const call = callOf({
    messages: [
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: "https://a.example/b.png" } },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
          { type: "file", file: { file_data: "data:application/pdf;base64,AAAA" } },
        ],
      },
    ],
  });
  expect(countableInput(call)).toEqual({ texts: [], otherTokens: TOKENS_PER_TURN + 3 * TOKENS_PER_MEDIA });
  const content = [image, { is: "text" as const, text: "seen" }, image];
  const result: Part = { is: "tool_result", callId: "c", content, failed: false };
  const { texts, otherTokens } = countableInput({ ...call, turns: [{ role: "tool", parts: [result] }] });
  expect([texts, otherTokens]).toEqual([["seen"], TOKENS_PER_TURN + 2 * TOKENS_PER_MEDIA]);
});

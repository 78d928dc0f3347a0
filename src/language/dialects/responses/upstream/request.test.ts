import { describe, expect, test } from "vitest";
import { CHAT_CALL, CHAT_FACTS } from "../../../../../tests/support/chat.ts";
import type { Json } from "../../../../../tests/support/gateway.ts";
import { Fault } from "../../../../contract/faults.ts";
import type { Call } from "../../../canon/call.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { responsesUpstream } from "./dialect.ts";

const said = (call: Partial<Call>, facts: Partial<ModelFacts> = {}): Json =>
  JSON.parse(responsesUpstream.encodeRequest({ ...CHAT_CALL, ...call }, { ...CHAT_FACTS, ...facts }));

function refusal(call: Partial<Call>, facts: Partial<ModelFacts> = {}): unknown {
  try {
    return said(call, facts);
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return [error.code, error.param];
  }
}

const thinking = { effort: "high", budgetTokens: null } as const;

describe("thinking", () => {
  test("a summary is asked for, unless the provider gives none out", () => {
    expect(said({ reasoning: thinking }).reasoning).toEqual({ effort: "high", summary: "auto" });
    expect(said({ reasoning: thinking }, { quirks: ["unsummarized"] }).reasoning).toEqual({ effort: "high" });
  });

  test("sealed thoughts are asked for where they are given out, also when nobody speaks of thinking", () => {
    expect(said({}, { reasoningEncryptedBy: "acme" })).toMatchObject({ include: ["reasoning.encrypted_content"] });
    expect(said({ reasoning: thinking })).not.toHaveProperty("include");
    const none = said({ reasoning: { effort: "none", budgetTokens: null } }, { reasoningEncryptedBy: "acme" });
    expect(none).not.toHaveProperty("include");
    expect(none.reasoning).toEqual({ effort: "none" });
  });

  test("a model that never thinks is not told not to", () => {
    const none = { effort: "none", budgetTokens: null } as const;
    expect(said({ reasoning: none }, { reasoning: "never" })).not.toHaveProperty("reasoning");
  });

  test("one that thinks or does not is told so in its words", () => {
    const low = { effort: "low", budgetTokens: null } as const;
    expect(said({ reasoning: low }, { quirks: ["effort-high-or-none"] }).reasoning.effort).toBe("high");
  });
});

describe("sampling", () => {
  test("is refused by name while a model thinks, unless it is known to take both", () => {
    expect(refusal({ reasoning: thinking, temperature: 0.5 })).toEqual(["unsupported_parameter", "temperature"]);
    expect(refusal({ reasoning: thinking, topP: 0.5 })).toEqual(["unsupported_parameter", "top_p"]);
    expect(refusal({ reasoning: thinking, temperature: 0.5 }, { sampling: true })).toMatchObject({ temperature: 0.5 });
    expect(refusal({ temperature: 0.5, topP: 0.4 })).toMatchObject({ temperature: 0.5, top_p: 0.4 });
  });

  test("values that hold anyway are not sent: some models refuse even those", () => {
    const body = said({ reasoning: thinking, temperature: 1, topP: 1 });
    expect(body).not.toHaveProperty("temperature");
    expect(body).not.toHaveProperty("top_p");
  });
});

test("what the dialect has no word for is refused by name", () => {
  expect(refusal({ stop: ["x"], parameters: ["stop"] })).toEqual(["unsupported_parameter", "stop"]);
  expect(refusal({ maxOutputTokens: 15 })).toEqual(["invalid_value", "max_tokens"]);
  expect(refusal({ openAiParameters: { user: 7 } })).toEqual(["invalid_value", "user"]);
  const audio = { is: "audio", source: { is: "inline", mediaType: "audio/wav", base64: "" } } as const;
  expect(refusal({ turns: [{ role: "user", parts: [audio] }] })).toEqual([
    "unsupported_parameter",
    "messages.0.content.0",
  ]);
  expect(refusal({ toolChoice: { is: "required" } })).toEqual(["invalid_value", "tool_choice"]);
  expect(refusal({ turns: [] })).toEqual(["invalid_value", "messages"]);
  const image = { is: "image", source: { is: "url", url: "https://a.example/b.png" } } as const;
  expect(refusal({ turns: [{ role: "system", parts: [image] }] })).toEqual(["invalid_value", "messages.0.content.0"]);
});

test("instructions alone are what the input says", () => {
  const body = said({ turns: [{ role: "system", parts: [{ is: "text", text: "Say hello." }] }] });
  expect(body).not.toHaveProperty("instructions");
  expect(body.input).toEqual([
    { type: "message", role: "system", content: [{ type: "input_text", text: "Say hello." }] },
  ]);
});

test("what an answer is to be is described", () => {
  const responseFormat = { is: "json_schema", name: "n", description: "d", schema: {}, strict: null } as const;
  expect(said({ responseFormat }).text.format).toMatchObject({ type: "json_schema", name: "n", description: "d" });
});

test("how closely to look at a picture is told in the dialect's words", () => {
  const image = { is: "image", source: { is: "url", url: "https://a.example/b.png" } } as const;
  const parts = [{ ...image, detail: "low" }, { ...image, detail: "closely" }, image];
  const [{ content }] = said({ turns: [{ role: "user", parts }] }).input;
  expect(content.map(({ detail }: Json) => detail)).toEqual(["low", "auto", "auto"]);
});

test("a call without arguments has the empty object, and a failure without a word is told as one", () => {
  const call = { is: "tool_call", id: "c", name: "f", argumentsText: " " } as const;
  const result = { is: "tool_result", callId: "c", content: [], failed: true } as const;
  const turns: Call["turns"] = [
    ...CHAT_CALL.turns,
    { role: "assistant", parts: [call] },
    { role: "tool", parts: [result] },
  ];
  expect(said({ turns }).input.slice(1)).toMatchObject([{ arguments: "{}" }, { output: "The tool failed." }]);
});

test("a tool without a schema takes nothing, strictly where it is held to", () => {
  const tool = { name: "f", description: null, schema: null } as const;
  const [open, strict] = said({
    tools: [
      { ...tool, strict: null },
      { ...tool, strict: true },
    ],
  }).tools;
  expect(open).toEqual({ type: "function", name: "f", parameters: { type: "object", properties: {} }, strict: false });
  expect(strict.parameters).toEqual({ type: "object", properties: {}, required: [], additionalProperties: false });
});

test("a thought that nothing came of stays here", () => {
  const signature = { family: "openai", data: "acme:own" } as const;
  const thought = { is: "reasoning", detail: { is: "encrypted", signature } } as const;
  const hello = { role: "user", parts: [{ is: "text", text: "Hello" }] } as const;
  const items = said(
    { turns: [hello, { role: "assistant", parts: [thought] }, hello] },
    { reasoningEncryptedBy: "acme" },
  ).input;
  expect(items.map(({ role }: Json) => role)).toEqual(["user", "user"]);
});

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

describe("reasoning", () => {
  test("a summary is requested, unless the provider returns none", () => {
    expect(said({ reasoning: thinking }).reasoning).toEqual({ effort: "high", summary: "auto" });
    expect(said({ reasoning: thinking }, { quirks: ["unsummarized"] }).reasoning).toEqual({ effort: "high" });
  });

  test("encrypted reasoning is requested if the provider returns it, also without an effort", () => {
    expect(said({}, { reasoningEncryptedBy: "acme" })).toMatchObject({ include: ["reasoning.encrypted_content"] });
    expect(said({ reasoning: thinking })).not.toHaveProperty("include");
    const none = said({ reasoning: { effort: "none", budgetTokens: null } }, { reasoningEncryptedBy: "acme" });
    expect(none).not.toHaveProperty("include");
    expect(none.reasoning).toEqual({ effort: "none" });
  });

  test("a model without reasoning gets no reasoning field", () => {
    const none = { effort: "none", budgetTokens: null } as const;
    expect(said({ reasoning: none }, { reasoning: "never" })).not.toHaveProperty("reasoning");
  });

  test("an on/off model gets its own efforts", () => {
    const low = { effort: "low", budgetTokens: null } as const;
    expect(said({ reasoning: low }, { quirks: ["effort-high-or-none"] }).reasoning.effort).toBe("high");
  });
});

describe("sampling", () => {
  test("is rejected by name while reasoning, unless the model is known to take both", () => {
    expect(refusal({ reasoning: thinking, temperature: 0.5 })).toEqual(["unsupported_parameter", "temperature"]);
    expect(refusal({ reasoning: thinking, topP: 0.5 })).toEqual(["unsupported_parameter", "top_p"]);
    expect(refusal({ reasoning: thinking, temperature: 0.5 }, { sampling: true })).toMatchObject({ temperature: 0.5 });
    expect(refusal({ temperature: 0.5, topP: 0.4 })).toMatchObject({ temperature: 0.5, top_p: 0.4 });
  });

  test("default values are not sent: some models reject even those", () => {
    const body = said({ reasoning: thinking, temperature: 1, topP: 1 });
    expect(body).not.toHaveProperty("temperature");
    expect(body).not.toHaveProperty("top_p");
  });
});

test("what the dialect cannot express is rejected by name", () => {
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

test("instructions alone become the input", () => {
  const body = said({ turns: [{ role: "system", parts: [{ is: "text", text: "Say hello." }] }] });
  expect(body).not.toHaveProperty("instructions");
  expect(body.input).toEqual([
    { type: "message", role: "system", content: [{ type: "input_text", text: "Say hello." }] },
  ]);
});

test("response formats are encoded", () => {
  const responseFormat = { is: "json_schema", name: "n", description: "d", schema: {}, strict: null } as const;
  expect(said({ responseFormat }).text.format).toMatchObject({ type: "json_schema", name: "n", description: "d" });
});

test("the image resolution is encoded", () => {
  const image = { is: "image", source: { is: "url", url: "https://a.example/b.png" } } as const;
  const parts = [{ ...image, detail: "low" }, { ...image, detail: "closely" }, image];
  const [{ content }] = said({ turns: [{ role: "user", parts }] }).input;
  expect(content.map(({ detail }: Json) => detail)).toEqual(["low", "auto", "auto"]);
});

test("a call without arguments gets an empty object, and a failure without text is stated", () => {
  const call = { is: "tool_call", id: "c", name: "f", argumentsText: " " } as const;
  const result = { is: "tool_result", callId: "c", content: [], failed: true } as const;
  const turns: Call["turns"] = [
    ...CHAT_CALL.turns,
    { role: "assistant", parts: [call] },
    { role: "tool", parts: [result] },
  ];
  expect(said({ turns }).input.slice(1)).toMatchObject([{ arguments: "{}" }, { output: "The tool failed." }]);
});

test("a tool without a schema takes no arguments, strictly if required", () => {
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

test("reasoning without a following item is dropped", () => {
  const signature = { family: "openai", data: "acme:own" } as const;
  const thought = { is: "reasoning", detail: { is: "encrypted", signature } } as const;
  const hello = { role: "user", parts: [{ is: "text", text: "Hello" }] } as const;
  const items = said(
    { turns: [hello, { role: "assistant", parts: [thought] }, hello] },
    { reasoningEncryptedBy: "acme" },
  ).input;
  expect(items.map(({ role }: Json) => role)).toEqual(["user", "user"]);
});

import { describe, expect, test } from "vitest";
import { Fault } from "../../../../contract/faults.ts";
import { ChatRequest } from "../../../../contract/schemas/chat.ts";
import type { Call } from "../../../canon/call.ts";
import type { Part } from "../../../canon/parts.ts";
import { decodeRequest } from "../../chat/client/request.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { geminiUpstream } from "./dialect.ts";

const OLD: ModelFacts = {
  model: "google/gemini-test",
  upstreamModel: "gemini-test",
  maxOutputTokens: 65_536,
  sampling: null,
  thinking: "budget",
  quirks: ["json-or-tools"],
};
const NEW: ModelFacts = { ...OLD, thinking: "level", quirks: ["signed-tool-calls"] };
const ALWAYS: ModelFacts = { ...NEW, quirks: ["signed-tool-calls", "thinks-always"] };
const HELLO = { role: "user", content: "hello" };
const STAND_IN = "skip_thought_signature_validator";

// biome-ignore lint/suspicious/noExplicitAny: bodies are asserted field by field
type Json = any;

function callOf(request: object): Call {
  return decodeRequest(ChatRequest.parse({ model: "google/m", messages: [HELLO], ...request }));
}

function sent(request: object, facts = NEW): Json {
  return JSON.parse(geminiUpstream.encodeRequest(callOf(request), facts));
}

function refusal(request: object, facts = NEW): Pick<Fault, "code" | "param" | "message"> {
  try {
    geminiUpstream.encodeRequest(callOf(request), facts);
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
  throw new Error("it was not refused");
}

const called = (id: string, name: string, args: string, signature?: string) => ({
  id,
  type: "function",
  function: { name, arguments: args },
  ...(signature === undefined ? {} : { extra_content: { google: { thought_signature: signature } } }),
});
const calling = (...tool_calls: object[]) => ({ role: "assistant", content: null, tool_calls });
const result = (tool_call_id: string, content: string) => ({ role: "tool", tool_call_id, content });
const tool = (name: string, more: object = {}) => ({ type: "function", function: { name, ...more } });

describe("the path", () => {
  test("CHAT-01 whole and streamed replies have their own methods; the model's name is encoded", () => {
    expect(geminiUpstream.path(callOf({}), OLD)).toBe("/models/gemini-test:generateContent");
    expect(geminiUpstream.path(callOf({ stream: true }), OLD)).toBe(
      "/models/gemini-test:streamGenerateContent?alt=sse",
    );
    expect(geminiUpstream.path(callOf({}), { ...OLD, upstreamModel: "a/b c" })).toBe(
      "/models/a%2Fb%20c:generateContent",
    );
  });

  test("streamed and whole requests have the same body", () => {
    expect(sent({ stream: true, stream_options: { include_usage: true } })).toEqual(sent({}));
  });
});

describe("turns", () => {
  test("CHAT-02 leading instructions are systemInstruction; later ones stay in place as user text", () => {
    const body = sent({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "developer", content: [{ type: "text", text: "Be brief." }] },
        HELLO,
        { role: "assistant", content: "Hi." },
        { role: "system", content: "Now in French." },
        { role: "user", content: "And you?" },
      ],
    });
    expect(body.systemInstruction).toEqual({ parts: [{ text: "Be kind." }, { text: "Be brief." }] });
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "hello" }] },
      { role: "model", parts: [{ text: "Hi." }] },
      { role: "user", parts: [{ text: "Now in French." }, { text: "And you?" }] },
    ]);
  });

  test("CHAT-02 instructions alone become the conversation", () => {
    const body = sent({ messages: [{ role: "system", content: "Say hello." }] });
    expect(body).toEqual({ contents: [{ role: "user", parts: [{ text: "Say hello." }] }] });
  });

  test("CHAT-02 roles alternate: adjacent turns are merged, and an empty model turn is dropped", () => {
    const body = sent({
      messages: [HELLO, { role: "user", content: "are you there?" }, { role: "assistant", content: "" }, HELLO],
    });
    expect(body.contents).toEqual([
      { role: "user", parts: [{ text: "hello" }, { text: "are you there?" }, { text: "hello" }] },
    ]);
  });

  test("CHAT-02 images, audio and files are inlined in place", () => {
    const body = sent({
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,iVBO", detail: "low" } },
            { type: "input_audio", input_audio: { data: "UklG", format: "wav" } },
            { type: "file", file: { file_data: "data:application/pdf;base64,JVBE", filename: "a.pdf" } },
          ],
        },
      ],
    });
    expect(body.contents[0].parts).toEqual([
      { text: "Look" },
      { inlineData: { mimeType: "image/png", data: "iVBO" } },
      { inlineData: { mimeType: "audio/wav", data: "UklG" } },
      { inlineData: { mimeType: "application/pdf", data: "JVBE" } },
    ]);
  });

  test("CHAT-02 media has the type of its bytes, whatever its data URL states", () => {
    const url = "data:image/jpg;charset=utf-8;base64,/9j/4AAQSkZJRgABAQAAAQ==";
    const body = sent({ messages: [{ role: "user", content: [{ type: "image_url", image_url: { url } }] }] });
    expect(body.contents[0].parts).toEqual([
      { inlineData: { mimeType: "image/jpeg", data: "/9j/4AAQSkZJRgABAQAAAQ==" } },
    ]);
  });

  test("CHAT-02 media URLs are rejected", () => {
    expect([...geminiUpstream.media].sort()).toEqual(["audio", "file", "image"]);
    const content = [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }];
    expect(refusal({ messages: [{ role: "user", content }] })).toMatchObject({ param: "messages.0.content.0" });
  });

  test("a refusal in the history becomes model text", () => {
    const body = sent({ messages: [HELLO, { role: "assistant", content: null, refusal: "I will not." }, HELLO] });
    expect(body.contents[1]).toEqual({ role: "model", parts: [{ text: "I will not." }] });
  });
});

describe("tools", () => {
  test("CHAT-03 all tools are one list with their schemas; a tool without arguments has none", () => {
    const schema = { type: "object", properties: { city: { $ref: "#/$defs/c" } }, $defs: { c: { type: "string" } } };
    const EITHER = { type: "object", properties: {}, anyOf: [{ required: ["a"] }, { required: ["b"] }] };
    const body = sent({
      tools: [
        tool("weather", { description: "Weather", parameters: schema, strict: true }),
        tool("now"),
        tool("noon", { parameters: { type: "object", properties: {}, additionalProperties: false } }),
        tool("any", { parameters: { type: "object", properties: {}, additionalProperties: true } }),
        tool("bare", { parameters: {} }),
        tool("either", { parameters: EITHER }),
      ],
    });
    expect(body.tools).toEqual([
      {
        functionDeclarations: [
          { name: "weather", description: "Weather", parametersJsonSchema: schema },
          { name: "now" },
          { name: "noon" },
          { name: "any", parametersJsonSchema: { type: "object", properties: {}, additionalProperties: true } },
          { name: "bare" },
          { name: "either", parametersJsonSchema: EITHER },
        ],
      },
    ]);
    expect(body).not.toHaveProperty("toolConfig");
  });

  test.each([
    ["auto", { mode: "AUTO" }],
    ["none", { mode: "NONE" }],
    ["required", { mode: "ANY" }],
    [
      { type: "function", function: { name: "a" } },
      { mode: "ANY", allowedFunctionNames: ["a"] },
    ],
  ])("CHAT-03 tool_choice %j", (tool_choice, functionCallingConfig) => {
    expect(sent({ tools: [tool("a"), tool("b")], tool_choice }).toolConfig).toEqual({ functionCallingConfig });
  });

  test("CHAT-03 a choice without tools is dropped, and an unknown tool is rejected", () => {
    expect(sent({ tool_choice: "none" })).not.toHaveProperty("toolConfig");
    const tool_choice = { type: "function", function: { name: "b" } };
    expect(refusal({ tools: [tool("a")], tool_choice })).toMatchObject({ code: "invalid_value", param: "tool_choice" });
  });

  test("CHAT-03 an invalid tool name is rejected with its path", () => {
    expect(refusal({ tools: [tool("a"), tool("9lives")] })).toMatchObject({ param: "tools.1.function.name" });
  });

  test("CHAT-03 results of parallel calls are one turn, in the order of the calls, each with its name", () => {
    const messages = [
      HELLO,
      calling(called("c1", "weather", '{"city":"Paris"}', "sig-1"), called("c2", "time", "")),
      result("c2", "noon"),
      result("c1", '{"celsius": 15.0}'),
      { role: "user", content: "Thanks" },
    ];
    expect(sent({ messages }).contents.slice(1)).toEqual([
      {
        role: "model",
        parts: [
          { functionCall: { id: "c1", name: "weather", args: { city: "Paris" } }, thoughtSignature: "sig-1" },
          { functionCall: { id: "c2", name: "time", args: {} } },
        ],
      },
      {
        role: "user",
        parts: [
          { functionResponse: { id: "c1", name: "weather", response: { celsius: 15 } } },
          { functionResponse: { id: "c2", name: "time", response: { result: "noon" } } },
          { text: "Thanks" },
        ],
      },
    ]);
  });

  test("CHAT-03 older models get no ids and no placeholder signature", () => {
    const messages = [HELLO, calling(called("c1", "time", "{}")), result("c1", "noon")];
    expect(sent({ messages }, OLD).contents.slice(1)).toEqual([
      { role: "model", parts: [{ functionCall: { name: "time", args: {} } }] },
      { role: "user", parts: [{ functionResponse: { name: "time", response: { result: "noon" } } }] },
    ]);
    const signed = [HELLO, calling(called("c1", "time", "{}", "sig")), result("c1", "noon")];
    expect(sent({ messages: signed }, OLD).contents[1].parts[0].thoughtSignature).toBe("sig");
  });

  test.each([
    ["plain text", "noon", { result: "noon" }],
    ["an object", '{"a":1}', { a: 1 }],
    ["a list", "[1,2]", { result: [1, 2] }],
    ["a number", "42", { result: "42" }],
    ["nothing", "", { result: "" }],
    ["what only looks like JSON", "{oops", { result: "{oops" }],
  ])("CHAT-03 a result is an object: %s", (_what, content, response) => {
    const messages = [HELLO, calling(called("c", "f", "{}")), result("c", content)];
    expect(sent({ messages }).contents[2].parts[0].functionResponse.response).toEqual(response);
  });

  test("numbers in arguments and results keep their digits", () => {
    const messages = [
      HELLO,
      calling(called("c", "f", '{"id":12345678901234567890,"x":1.0}')),
      result("c", '{"id":98765432109876543210}'),
    ];
    const text = geminiUpstream.encodeRequest(callOf({ messages }), NEW);
    expect(text).toContain('"args":{"id":12345678901234567890,"x":1.0}');
    expect(text).toContain('"response":{"id":98765432109876543210}');
  });

  test("CHAT-03 arguments that are not an object and results without a call are rejected with their path", () => {
    for (const bad of ["[1]", "12", "{oops", '"x"'])
      expect(refusal({ messages: [HELLO, calling(called("c", "f", bad))] })).toMatchObject({
        code: "invalid_value",
        param: "messages.1.tool_calls.0.function.arguments",
      });
    expect(refusal({ messages: [HELLO, result("nobody", "x")] })).toMatchObject({
      code: "invalid_value",
      param: "messages.1.tool_call_id",
    });
  });
});

describe("signatures", () => {
  test("CHAT-05 the first unsigned call of a turn gets the documented placeholder, others none", () => {
    const messages = [
      HELLO,
      calling(called("a", "f", "{}"), called("b", "g", "{}")),
      result("a", "1"),
      result("b", "2"),
    ];
    const [first, second] = sent({ messages }).contents[1].parts;
    expect(first.thoughtSignature).toBe(STAND_IN);
    expect(second).not.toHaveProperty("thoughtSignature");
  });

  test("CHAT-05 each of several steps keeps its own signature", () => {
    const messages = [
      HELLO,
      calling(called("a", "f", "{}", "sig-a")),
      result("a", "1"),
      calling(called("b", "g", "{}", "sig-b")),
      result("b", "2"),
    ];
    const { contents } = sent({ messages });
    expect([contents[1].parts[0].thoughtSignature, contents[3].parts[0].thoughtSignature]).toEqual(["sig-a", "sig-b"]);
  });

  const sealed = (data: string, format = "google-gemini-v1") => ({ type: "reasoning.encrypted", data, format });

  test("CHAT-05 the signature of a text is returned on that text, beside signed calls", () => {
    const turn = {
      role: "assistant",
      content: "I look it up.",
      reasoning_content: "The user wants …",
      reasoning_details: [sealed("seal")],
      tool_calls: [called("a", "f", "{}", "sig")],
    };
    expect(sent({ messages: [HELLO, turn, result("a", "1")] }).contents[1].parts).toEqual([
      { text: "I look it up.", thoughtSignature: "seal" },
      { functionCall: { id: "a", name: "f", args: {} }, thoughtSignature: "sig" },
    ]);
  });

  test("CHAT-05 a signature without text goes to an empty part; several are not merged", () => {
    const alone = { role: "assistant", content: null, reasoning_details: [sealed("s1")] };
    expect(sent({ messages: [HELLO, alone, HELLO] }).contents[1].parts).toEqual([{ text: "", thoughtSignature: "s1" }]);
    const two = { role: "assistant", content: "ab", reasoning_details: [sealed("s1"), sealed("s2")] };
    expect(sent({ messages: [HELLO, two, HELLO] }).contents[1].parts).toEqual([
      { text: "", thoughtSignature: "s1" },
      { text: "ab", thoughtSignature: "s2" },
    ]);
    const content = ["a", "b"].map((text) => ({ type: "text", text }));
    const texts = { role: "assistant", content, reasoning_details: [sealed("s")] };
    expect(sent({ messages: [HELLO, texts, HELLO] }).contents[1].parts).toEqual([
      { text: "a" },
      { text: "b", thoughtSignature: "s" },
    ]);
  });

  test("MSG-02 RESP-02 an explicit order is kept: each signature on the text before it, calls in place", () => {
    const signature = (data: string): Part => ({
      is: "reasoning",
      detail: { is: "encrypted", signature: { family: "google", data } },
    });
    const parts: Part[] = [
      { is: "text", text: "a" },
      signature("s1"),
      { is: "text", text: "b" },
      { is: "tool_call", id: "c", name: "f", argumentsText: "{}", signature: { family: "google", data: "s2" } },
      signature("s3"),
      { is: "text", text: "c" },
    ];
    const answer: Part = { is: "tool_result", callId: "c", content: [{ is: "text", text: "1" }], failed: false };
    const call = callOf({});
    const turns = [...call.turns, { role: "assistant" as const, parts }, { role: "tool" as const, parts: [answer] }];
    expect(JSON.parse(geminiUpstream.encodeRequest({ ...call, turns }, NEW)).contents[1].parts).toEqual([
      { text: "a", thoughtSignature: "s1" },
      { text: "b" },
      { functionCall: { id: "c", name: "f", args: {} }, thoughtSignature: "s2" },
      { text: "", thoughtSignature: "s3" },
      { text: "c" },
    ]);
  });

  test("CHAT-03 a call without a result is rejected by name, at the end and before the next model turn", () => {
    const asking = calling(called("a", "f", "{}"), called("b", "f", "{}"));
    const again = { role: "assistant", content: "ok" };
    for (const messages of [
      [HELLO, asking],
      [HELLO, asking, result("a", "1")],
      [HELLO, asking, result("a", "1"), again, HELLO],
      [HELLO, asking, result("a", "1"), again, result("b", "2")],
    ])
      expect(refusal({ messages })).toMatchObject({
        code: "invalid_value",
        param: expect.stringMatching(/^messages\.1\.tool_calls\.[01]$/),
      });
  });

  test("CHAT-05 adjacent signed and unsigned turns stay separate parts", () => {
    const messages = [
      HELLO,
      { role: "assistant", content: "a", reasoning_details: [sealed("s1")] },
      { role: "assistant", content: "b" },
      HELLO,
    ];
    expect(sent({ messages }).contents[1].parts).toEqual([{ text: "a", thoughtSignature: "s1" }, { text: "b" }]);
  });

  test("CHAT-05 reasoning of other families and readable reasoning are not sent", () => {
    const turn = {
      role: "assistant",
      content: "Hi",
      reasoning_details: [
        sealed("foreign", "anthropic-claude-v1"),
        { type: "reasoning.text", text: "hm", signature: "x", format: "anthropic-claude-v1" },
      ],
    };
    expect(sent({ messages: [HELLO, turn, HELLO] }).contents[1].parts).toEqual([{ text: "Hi" }]);
    const plain = { role: "assistant", content: "Hi", reasoning_content: "hm" };
    expect(sent({ messages: [HELLO, plain, HELLO] }).contents[1].parts).toEqual([{ text: "Hi" }]);
  });
});

describe("generationConfig", () => {
  test("PARAM-01 every honoured parameter is encoded", () => {
    const body = sent({
      temperature: 0.2,
      top_p: 0.9,
      top_k: 40,
      max_completion_tokens: 100,
      stop: ["\n\n", "", "END"],
      user: "u",
      safety_identifier: "s",
      session_id: "x",
    });
    expect(body).toEqual({
      contents: [{ role: "user", parts: [{ text: "hello" }] }],
      generationConfig: { temperature: 0.2, topP: 0.9, topK: 40, maxOutputTokens: 100, stopSequences: ["\n\n", "END"] },
    });
  });

  test("a plain request has no generationConfig", () => {
    expect(sent({ top_k: 0 })).toEqual({ contents: [{ role: "user", parts: [{ text: "hello" }] }] });
  });

  test("PARAM-01 five stop sequences are accepted and a sixth is rejected", () => {
    expect(sent({ stop: ["1", "2", "3", "4", "5"] }).generationConfig.stopSequences).toHaveLength(5);
    expect(refusal({ stop: ["1", "2", "3", "4", "5", "6"] })).toMatchObject({ code: "invalid_value", param: "stop" });
  });

  test("CHAT-04 JSON mode and JSON schemas are encoded", () => {
    expect(sent({ response_format: { type: "text" } })).not.toHaveProperty("generationConfig");
    expect(sent({ response_format: { type: "json_object" } }).generationConfig).toEqual({
      responseMimeType: "application/json",
    });
    const schema = { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } };
    const response_format = { type: "json_schema", json_schema: { name: "r", schema, strict: true } };
    expect(sent({ response_format }).generationConfig).toEqual({
      responseMimeType: "application/json",
      responseJsonSchema: schema,
    });
    const anything = { type: "json_schema", json_schema: { name: "r", schema: {} } };
    expect(sent({ response_format: anything }).generationConfig).toEqual({ responseMimeType: "application/json" });
  });

  test("CHAT-04 older models reject JSON together with tools, unless no tool may be called", () => {
    const both = { tools: [tool("a")], response_format: { type: "json_object" } };
    expect(refusal(both, OLD)).toMatchObject({ code: "unsupported_parameter", param: "response_format" });
    expect(sent({ ...both, tool_choice: "none" }, OLD)).not.toHaveProperty("tools");
    expect(sent(both, NEW)).toHaveProperty("tools");
  });
});

describe("reasoning", () => {
  const thinking = (effort: string, facts: ModelFacts) =>
    sent({ reasoning_effort: effort }, facts).generationConfig.thinkingConfig;

  test.each([
    ["none", { thinkingBudget: 0 }],
    ["minimal", { thinkingBudget: 512, includeThoughts: true }],
    ["low", { thinkingBudget: 1024, includeThoughts: true }],
    ["medium", { thinkingBudget: 8192, includeThoughts: true }],
    ["high", { thinkingBudget: 24_576, includeThoughts: true }],
    ["max", { thinkingBudget: 24_576, includeThoughts: true }],
  ])("CHAT-05 reasoning_effort %s is a budget for older models", (effort, config) => {
    expect(thinking(effort, OLD)).toEqual(config);
    expect(thinking(effort, { ...OLD, thinking: null })).toEqual(config);
  });

  test.each([
    ["none", { thinkingLevel: "minimal" }],
    ["minimal", { thinkingLevel: "minimal", includeThoughts: true }],
    ["low", { thinkingLevel: "low", includeThoughts: true }],
    ["medium", { thinkingLevel: "medium", includeThoughts: true }],
    ["high", { thinkingLevel: "high", includeThoughts: true }],
    ["xhigh", { thinkingLevel: "high", includeThoughts: true }],
  ])("CHAT-05 reasoning_effort %s is a level for newer models, and never both", (effort, config) => {
    expect(thinking(effort, NEW)).toEqual(config);
  });

  test("CHAT-05 a model that always reasons rejects none, and low is its minimum", () => {
    expect(refusal({ reasoning_effort: "none" }, ALWAYS)).toMatchObject({ param: "reasoning_effort" });
    expect(thinking("minimal", ALWAYS)).toEqual({ thinkingLevel: "low", includeThoughts: true });
    expect(thinking("high", ALWAYS)).toEqual({ thinkingLevel: "high", includeThoughts: true });
  });

  test("CHAT-05 aliases: a budget stays a budget if the model takes one", () => {
    const budget = (budget_tokens: number, facts: ModelFacts) =>
      sent({ thinking: { type: "enabled", budget_tokens } }, facts).generationConfig.thinkingConfig;
    expect(budget(3000, OLD)).toEqual({ thinkingBudget: 3000, includeThoughts: true });
    expect(budget(1, OLD).thinkingBudget).toBe(512);
    expect(budget(1_000_000, OLD).thinkingBudget).toBe(24_576);
    expect(budget(3000, NEW)).toEqual({ thinkingLevel: "medium", includeThoughts: true });
    expect(sent({ reasoning: { enabled: false } }, OLD).generationConfig.thinkingConfig).toEqual({ thinkingBudget: 0 });
  });

  test("CHAT-05 without an effort no reasoning field is sent", () => {
    expect(sent({}, NEW)).not.toHaveProperty("generationConfig");
  });

  test("HDR-06 the reported effort is the one that was sent", () => {
    const told = (effort: string, facts: ModelFacts) =>
      geminiUpstream.effort?.(callOf({ reasoning_effort: effort }), facts);
    expect(told("none", NEW)).toBe("minimal");
    expect(told("xhigh", NEW)).toBe("high");
    expect(told("minimal", ALWAYS)).toBe("low");
    expect(told("medium", ALWAYS)).toBe("medium");
    for (const more of ["xhigh", "max"]) expect(told(more, OLD)).toBe("high");
    expect(told("none", OLD)).toBe("none");
    expect(geminiUpstream.effort?.(callOf({}), NEW)).toBeUndefined();
  });
});

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../../../tests/support/gateway.ts";
import { callOf, FACTS, HELLO, PNG, refusal, sent, toolCall, WEATHER } from "../../../../../tests/support/messages.ts";
import { decodeToolId, encodeToolId } from "../tool-ids.ts";
import { messagesUpstream } from "./dialect.ts";

describe("turns", () => {
  test("CHAT-02 leading instructions are the system prompt; later ones stay in place as user text", () => {
    const body = sent({
      messages: [
        { role: "system", content: "Be kind." },
        { role: "developer", content: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }] },
        HELLO,
        { role: "assistant", content: "Hi." },
        { role: "system", content: "Now in French." },
        { role: "user", content: "And you?" },
      ],
    });
    expect(body.system).toEqual([
      { type: "text", text: "Be kind." },
      { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
    ]);
    expect(body.messages).toEqual([
      { role: "user", content: [{ type: "text", text: "hello" }] },
      { role: "assistant", content: [{ type: "text", text: "Hi." }] },
      {
        role: "user",
        content: [
          { type: "text", text: "Now in French." },
          { type: "text", text: "And you?" },
        ],
      },
    ]);
  });

  test("CHAT-02 roles alternate: adjacent turns are merged, and blank text is dropped", () => {
    const body = sent({
      messages: [
        HELLO,
        { role: "user", content: "are you there?" },
        { role: "assistant", content: "" },
        { role: "assistant", content: "Yes." },
        { role: "assistant", content: " I am. \n" },
      ],
    });
    expect(body.messages).toEqual([
      {
        role: "user",
        content: [
          { type: "text", text: "hello" },
          { type: "text", text: "are you there?" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Yes." },
          { type: "text", text: " I am." },
        ],
      },
    ]);
  });

  test("CHAT-02 instructions alone, and a conversation that starts with the assistant, are encoded", () => {
    const alone = sent({ messages: [{ role: "system", content: "Say something." }] });
    expect(alone.system).toBeUndefined();
    expect(alone.messages).toEqual([{ role: "user", content: [{ type: "text", text: "Say something." }] }]);
    const greeted = sent({ messages: [{ role: "assistant", content: "Welcome!" }, HELLO] });
    expect(greeted.messages.map(({ role }: Json) => role)).toEqual(["user", "assistant", "user"]);
    expect(refusal({ messages: [{ role: "user", content: " " }] })).toMatchObject({
      code: "invalid_value",
      param: "messages",
    });
  });

  test("CHAT-03 all results of parallel calls come first in one user message", () => {
    const body = sent({
      messages: [
        HELLO,
        {
          role: "assistant",
          content: "Looking.",
          tool_calls: [toolCall("a", "weather", '{"city":"Paris"}'), toolCall("b", "time", "")],
        },
        { role: "tool", tool_call_id: "a", content: "rain" },
        { role: "system", content: "Be quick." },
        { role: "tool", tool_call_id: "b", content: [{ type: "text", text: "noon" }] },
        { role: "user", content: "So?" },
      ],
    });
    expect(body.messages.slice(1)).toEqual([
      {
        role: "assistant",
        content: [
          { type: "text", text: "Looking." },
          { type: "tool_use", id: "a", name: "weather", input: { city: "Paris" } },
          { type: "tool_use", id: "b", name: "time", input: {} },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "rain" }] },
          { type: "tool_result", tool_use_id: "b", content: [{ type: "text", text: "noon" }] },
          { type: "text", text: "Be quick." },
          { type: "text", text: "So?" },
        ],
      },
    ]);
  });

  test("CHAT-03 a call without a result and a result without a call are rejected by name", () => {
    const calls = { role: "assistant", tool_calls: [toolCall("a", "f", "{}"), toolCall("b", "g", "{}")] };
    const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "x" });
    expect(refusal({ messages: [HELLO, calls, result("a")] })).toMatchObject({
      code: "invalid_value",
      param: "messages.1.tool_calls.1",
    });
    expect(refusal({ messages: [HELLO, calls, result("b"), { role: "assistant", content: "ok" }] }).param).toBe(
      "messages.1.tool_calls.0",
    );
    const late = [HELLO, calls, result("b"), { role: "assistant", content: "ok" }, result("a")];
    expect(refusal({ messages: late }).param).toBe("messages.1.tool_calls.0");
    expect(refusal({ messages: [HELLO, result("z")] }).param).toBe("messages.1.tool_call_id");
    expect(refusal({ messages: [HELLO, calls, result("a"), result("a")] }).param).toBe("messages.3.tool_call_id");
  });

  test("CHAT-03 arguments are an object with lossless numbers; anything else is rejected by name", () => {
    const body = (args: string) => ({
      messages: [
        HELLO,
        { role: "assistant", tool_calls: [toolCall("a", "f", args)] },
        { role: "tool", tool_call_id: "a", content: "" },
      ],
    });
    const text = messagesUpstream.encodeRequest(
      callOf(body('{ "id": 9007199254740993, "price": 1.0, "n": [1e2] }')),
      FACTS,
    );
    expect(text).toContain('"input":{"id":9007199254740993,"price":1.0,"n":[1e2]}');
    for (const args of ["{", "[1]", '"x"', "1.0", "null", "{} {}"]) {
      expect(refusal(body(args)), args).toMatchObject({
        code: "invalid_value",
        param: "messages.1.tool_calls.0.function.arguments",
      });
    }
    expect(sent(body("{}")).messages[2].content).toEqual([{ type: "tool_result", tool_use_id: "a" }]);
  });

  test("CHAT-03 ids of other dialects survive the round trip", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "grapheme" }), fc.stringMatching(/^idx_[\w-]*$/)), (id) => {
        expect(encodeToolId(id)).toMatch(/^[a-zA-Z0-9_-]+$/);
        expect(decodeToolId(encodeToolId(id))).toBe(id);
      }),
    );
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(encodeToolId(a) === encodeToolId(b)).toBe(a === b);
      }),
    );
    expect(encodeToolId("toolu_01-x")).toBe("toolu_01-x");
    expect(decodeToolId("idx_not base64!")).toBe("idx_not base64!");
    const id = "call_1__thought__CiQB+/8=";
    const body = sent({
      messages: [
        HELLO,
        { role: "assistant", tool_calls: [toolCall(id, "f", "{}")] },
        { role: "tool", tool_call_id: id, content: "x" },
      ],
    });
    expect(body.messages[1].content[0].id).toBe(body.messages[2].content[0].tool_use_id);
  });

  test("CHAT-05 reasoning of this family is returned unchanged and in place; that of others is dropped", () => {
    const body = sent({
      messages: [
        HELLO,
        {
          role: "assistant",
          content: "Let me see.",
          reasoning_content: "shown",
          reasoning_details: [
            { type: "reasoning.text", text: "first ", signature: "s1+/=", format: "anthropic-claude-v1" },
            { type: "reasoning.text", text: "", signature: "s2", format: "anthropic-claude-v1" },
            { type: "reasoning.encrypted", data: "blob", format: "anthropic-claude-v1" },
            { type: "reasoning.encrypted", data: "foreign", format: "google-gemini-v1" },
            { type: "reasoning.text", text: "unsigned" },
          ],
          tool_calls: [toolCall("a", "f", "{}")],
        },
        { role: "tool", tool_call_id: "a", content: "x" },
      ],
    });
    expect(body.messages[1].content).toEqual([
      { type: "thinking", thinking: "first ", signature: "s1+/=" },
      { type: "thinking", thinking: "", signature: "s2" },
      { type: "redacted_thinking", data: "blob" },
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "a", name: "f", input: {} },
    ]);
  });

  test("CHAT-02 a refusal of the assistant becomes text", () => {
    const body = sent({ messages: [HELLO, { role: "assistant", refusal: "I will not." }, HELLO] });
    expect(body.messages[1]).toEqual({ role: "assistant", content: [{ type: "text", text: "I will not." }] });
  });
});

const PDF = Buffer.from("%PDF-1.7 …").toString("base64");
const asked = (part: object, facts = FACTS) =>
  sent({ messages: [{ role: "user", content: [part] }] }, facts).messages[0].content[0];

describe("images and files", () => {
  test("CHAT-02 an image is sent by URL, or inline with its sniffed type", () => {
    const image = (url: string) => ({ type: "image_url", image_url: { url, detail: "low" } });
    expect(asked(image("https://example.com/a.png"))).toEqual({
      type: "image",
      source: { type: "url", url: "https://example.com/a.png" },
    });
    const types = {
      [PNG]: "image/png",
      [Buffer.from([0xff, 0xd8, 0xff, 0xe0]).toString("base64")]: "image/jpeg",
      [Buffer.from("GIF89a…").toString("base64")]: "image/gif",
      [Buffer.from("RIFF....WEBPVP8 ").toString("base64")]: "image/webp",
    };
    for (const [data, media_type] of Object.entries(types)) {
      expect(asked(image(`data:image/png;base64,${data}`)).source).toEqual({ type: "base64", media_type, data });
    }
    expect(asked(image("data:image/webp;base64,AAAA")).source.media_type).toBe("image/webp");
  });

  test("CHAT-02 a PDF and a text are documents with their names", () => {
    const file = (file_data: string) => ({ type: "file", file: { file_data, filename: "a.x" } });
    expect(asked(file(`data:application/octet-stream;base64,${PDF}`))).toEqual({
      type: "document",
      source: { type: "base64", media_type: "application/pdf", data: PDF },
      title: "a.x",
    });
    const text = Buffer.from("Grüße").toString("base64");
    expect(asked(file(`data:text/markdown;base64,${text}`)).source).toEqual({
      type: "text",
      media_type: "text/plain",
      data: "Grüße",
    });
    expect(asked(file("https://example.com/a.pdf")).source).toEqual({ type: "url", url: "https://example.com/a.pdf" });
  });

  test("CHAT-02 unsupported media is rejected by name", () => {
    const of = (part: object) =>
      refusal({ messages: [HELLO, { role: "user", content: [{ type: "text", text: "x" }, part] }] });
    const wrong = [
      { type: "image_url", image_url: { url: "data:image/tiff;base64,AAAA" } },
      { type: "image_url", image_url: { url: "ftp://example.com/a.png" } },
      { type: "image_url", image_url: { url: "data:image/svg+xml,<svg/>" } },
      { type: "file", file: { file_data: `data:text/plain;base64,${Buffer.from([0xff, 0xfe]).toString("base64")}` } },
      { type: "file", file: { file_data: "data:application/zip;base64,UEsDBA==" } },
      { type: "file", file: { file_id: "file-1" } },
      { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    ];
    for (const part of wrong) expect(of(part).param, JSON.stringify(part)).toBe("messages.1.content.1");
    expect([...messagesUpstream.media].sort()).toEqual(["file", "image", "remote_url"]);
  });
});

describe("tools", () => {
  test("CHAT-03 definitions carry name, description, schema and strictness", () => {
    const strict = {
      type: "function",
      function: {
        name: "f",
        strict: true,
        parameters: { type: "object", properties: {}, additionalProperties: false },
      },
    };
    const open = { type: "function", function: { name: "o", strict: true, parameters: { properties: {} } } };
    const bare = { type: "function", function: { name: "g", strict: false, parameters: {} } };
    const untyped = { type: "function", function: { name: "h", parameters: { properties: {} } } };
    expect(sent({ tools: [WEATHER, strict, open, bare, untyped] }).tools).toEqual([
      { name: "weather", description: "Tells it.", input_schema: { type: "object", properties: { c: {} } } },
      { name: "f", input_schema: { type: "object", properties: {}, additionalProperties: false }, strict: true },
      { name: "o", input_schema: { type: "object", properties: {}, additionalProperties: false }, strict: true },
      { name: "g", input_schema: { type: "object", properties: {} } },
      { name: "h", input_schema: { type: "object", properties: {} } },
    ]);
    const dotted = { type: "function", function: { name: "a.b" } };
    expect(refusal({ tools: [WEATHER, dotted] })).toMatchObject({
      code: "invalid_value",
      param: "tools.1.function.name",
    });
  });

  test("CHAT-03 every form of tool_choice", () => {
    const choice = (tool_choice: unknown) => sent({ tools: [WEATHER], tool_choice }).tool_choice;
    expect(choice("auto")).toEqual({ type: "auto" });
    expect(choice("none")).toEqual({ type: "none" });
    expect(choice("required")).toEqual({ type: "any" });
    expect(choice({ type: "function", function: { name: "weather" } })).toEqual({ type: "tool", name: "weather" });
    expect(choice(undefined)).toBeUndefined();
    expect(sent({ tools: [WEATHER], tool_choice: "none" }).tools).toHaveLength(1);
    expect(refusal({ tool_choice: "required" })).toMatchObject({ code: "invalid_value", param: "tool_choice" });
    expect(sent({ tool_choice: "auto" }).tool_choice).toBeUndefined();
  });

  test("CHAT-03 a conversation with calls keeps their definitions if no tools are sent", () => {
    const body = sent({
      messages: [
        HELLO,
        { role: "assistant", tool_calls: [toolCall("a", "f", "{}")] },
        { role: "tool", tool_call_id: "a", content: "x" },
      ],
    });
    expect(body.tools).toEqual([{ name: "f", input_schema: { type: "object", properties: {} } }]);
    expect(body.tool_choice).toEqual({ type: "none" });
  });
});

describe("response format", () => {
  const format = (schema: object, more: object = {}, facts = FACTS) =>
    sent({ response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true, ...more } } }, facts)
      .output_config.format;

  test("CHAT-04 a supported JSON schema is sent unchanged", () => {
    const schema = {
      type: "object",
      title: "City",
      properties: {
        name: { type: "string", pattern: "^[A-Z]" },
        born: { type: "string", format: "date" },
        tags: { type: "array", items: { $ref: "#/$defs/tag" }, minItems: 1 },
        size: { anyOf: [{ type: "integer" }, { type: "null" }] },
      },
      required: ["name", "born", "tags", "size"],
      additionalProperties: false,
      $defs: { tag: { enum: ["a", "b"] } },
    };
    expect(format(schema)).toEqual({ type: "json_schema", schema });
    expect(format(schema, { description: "A city." }).schema.description).toBe("A city.");
  });

  test("CHAT-04 unsupported rules move into the description, at any depth", () => {
    const { schema } = format({
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      properties: {
        age: { type: "integer", minimum: 0, description: "In years." },
        list: { type: "array", minItems: 3, items: { oneOf: [{ type: "string", maxLength: 5 }, { type: "null" }] } },
        open: { type: "object", additionalProperties: { type: "string" } },
        both: { anyOf: [{ type: "string", minLength: 1 }], oneOf: [{ type: "null" }] },
        many: { type: "array", minItems: 0, items: { properties: {} } },
      },
    });
    expect(schema).toEqual({
      type: "object",
      properties: {
        age: { type: "integer", description: 'In years. Must satisfy {"minimum":0}.' },
        list: {
          type: "array",
          items: { anyOf: [{ type: "string", description: 'Must satisfy {"maxLength":5}.' }, { type: "null" }] },
          description: 'Must satisfy {"minItems":3}.',
        },
        // A map cannot be had, and making it an empty object would be a lie: the provider says so itself.
        open: { type: "object", additionalProperties: { type: "string" } },
        both: {
          anyOf: [{ type: "string", description: 'Must satisfy {"minLength":1}.' }],
          description: 'Must satisfy {"oneOf":[{"type":"null"}]}.',
        },
        many: { type: "array", minItems: 0, items: { properties: {}, additionalProperties: false } },
      },
      additionalProperties: false,
    });
  });

  test("CHAT-04 json_object becomes an instruction after the caller's own", () => {
    const body = sent({
      messages: [{ role: "system", content: "Be kind." }, HELLO],
      response_format: { type: "json_object" },
    });
    expect(body.system[0]).toEqual({ type: "text", text: "Be kind." });
    expect(body.system[1].text).toContain("JSON object");
    expect(sent({ response_format: { type: "text" } })).toEqual(sent({}));
  });
});

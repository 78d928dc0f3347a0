import { describe, expect, test } from "vitest";
import type { Json } from "../support/gateway.ts";
import { foldMessage } from "../support/message-stream.ts";
import { expectRequestByDocument } from "../support/openai-document.ts";
import { responseJson } from "../support/responses-native.ts";
import { framesOf, thoughtOf, wordsOf } from "../support/responses-script.ts";
import { chunksOf, contentOf, eventsOf } from "../support/scene.ts";
import {
  CALLS,
  HELLO,
  responseWith,
  SCHEMA,
  SPOKEN,
  streaming,
  throughResponses,
} from "../support/through-responses.ts";

/** Models with full function only on their provider's responses API, for callers of chat and messages. */
const { upstream, sent, path, chat, messages } = throughResponses();

describe("reasoning with tools", () => {
  test("CHAT-03 CHAT-05 RESP-05 a chat caller gets reasoning, text and calls, whole and in a stream", async () => {
    upstream().next(responseWith(...SPOKEN));
    const whole = await chat();
    expect(whole.status, whole.text).toBe(200);
    expect(path()).toBe("/v1/responses");
    expectRequestByDocument(sent());
    expect(sent()).toEqual({
      model: "gpt-5.6-terra",
      input: [{ type: "message", role: "user", content: [{ type: "input_text", text: "Weather?" }] }],
      tools: [{ type: "function", name: "weather", description: "Tells it.", parameters: SCHEMA, strict: false }],
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      store: false,
    });
    const [choice] = whole.body.choices;
    expect(choice).toMatchObject({
      finish_reason: "tool_calls",
      message: {
        content: "Let me see.",
        reasoning_content: "I should look.",
        reasoning_details: [{ type: "reasoning.text", text: "I should look.", format: "openai-responses-v1" }],
        tool_calls: [
          { id: "call_a", type: "function", function: { name: "weather", arguments: '{"city":"Paris"}' } },
          { id: "call_b", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } },
        ],
      },
    });
    upstream().next(streaming(...SPOKEN));
    const { text } = await chat({ stream: true, stream_options: { include_usage: true } });
    expect(sent()).toMatchObject({ stream: true, store: false });
    expect(eventsOf(text).at(-1)).toBe("[DONE]");
    const chunks = chunksOf(text);
    expect(contentOf(text)).toBe("Let me see.");
    const deltas = chunks.map((chunk) => chunk.choices[0]?.delta ?? {});
    expect(deltas.map((delta) => delta.reasoning_content ?? "").join("")).toBe("I should look.");
    expect(deltas.flatMap((delta) => delta.reasoning_details ?? [])).toEqual(choice.message.reasoning_details);
    const calls: Json[] = [];
    for (const piece of deltas.flatMap((delta) => delta.tool_calls ?? [])) {
      calls[piece.index] ??= { id: piece.id, name: piece.function.name, text: "" };
      calls[piece.index].text += piece.function.arguments;
    }
    expect(calls).toEqual([
      { id: "call_a", name: "weather", text: '{"city":"Paris"}' },
      { id: "call_b", name: "weather", text: '{"city":"Rome"}' },
    ]);
    expect(chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? [])).toEqual(["tool_calls"]);
    expect(chunks.at(-1).usage).toEqual(whole.body.usage);
  });

  test("MSG-02 a messages caller gets the same as blocks, whole and in a stream", async () => {
    const system = [
      { type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } },
      { type: "text", text: "Be kind." },
    ];
    upstream().next(responseWith(...SPOKEN));
    const whole = await messages({ system, output_config: { effort: "xhigh" } });
    expect(whole.status, whole.text).toBe(200);
    expectRequestByDocument(sent());
    expect(sent()).toMatchObject({
      instructions: "Be brief.\n\nBe kind.",
      reasoning: { effort: "xhigh", summary: "auto" },
      max_output_tokens: 4000,
    });
    expect(whole.body.content).toEqual([
      { type: "thinking", thinking: "I should look.", signature: expect.stringContaining("openai") },
      { type: "text", text: "Let me see." },
      { type: "tool_use", id: "call_a", name: "weather", input: { city: "Paris" } },
      { type: "tool_use", id: "call_b", name: "weather", input: { city: "Rome" } },
    ]);
    expect(whole.body.stop_reason).toBe("tool_use");
    upstream().next(streaming(...SPOKEN));
    const { id, ...folded } = foldMessage((await messages({ stream: true })).text);
    expect(id).toMatch(/^msg_/);
    expect(folded).toMatchObject({ content: whole.body.content, stop_reason: "tool_use", usage: whole.body.usage });
  });

  test("MSG-02 a thinking budget is treated the same", async () => {
    upstream().next(responseWith(wordsOf("Sunny.")));
    const answer = await messages({ thinking: { type: "enabled", budget_tokens: 2048 } });
    expect(answer.status, answer.text).toBe(200);
    expect(sent()).toMatchObject({ reasoning: { effort: "low", summary: "auto" } });
  });

  test("CHAT-05 second turn: reasoning is sent back to its signer, right before its output", async () => {
    upstream().next(responseWith(...SPOKEN));
    const [{ message }] = (await chat()).body.choices;
    upstream().next(responseWith(wordsOf("Sunny in both.")));
    const results = [
      { role: "tool", tool_call_id: "call_a", content: "sun" },
      { role: "tool", tool_call_id: "call_b", content: "rain" },
    ];
    const second = await chat({ messages: [...HELLO, message, ...results] });
    expect(second.body.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "Sunny in both." } });
    expectRequestByDocument(sent());
    expect(sent().input).toEqual([
      { type: "message", role: "user", content: [{ type: "input_text", text: "Weather?" }] },
      {
        type: "reasoning",
        summary: [{ type: "summary_text", text: "I should look." }],
        encrypted_content: "gAAAA+/=",
      },
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Let me see.", annotations: [] }],
      },
      { type: "function_call", call_id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", call_id: "call_b", name: "weather", arguments: '{"city":"Rome"}' },
      { type: "function_call_output", call_id: "call_a", output: "sun" },
      { type: "function_call_output", call_id: "call_b", output: "rain" },
    ]);
  });

  test("MSG-02 second turn of messages, from a stream: empty reasoning, an image and a failed tool result", async () => {
    upstream().next(streaming(thoughtOf("", "gBARE"), ...CALLS));
    const { content } = foldMessage((await messages({ stream: true })).text);
    expect(content[0]).toEqual({ type: "redacted_thinking", data: expect.stringContaining("gBARE") });
    upstream().next(responseWith(wordsOf("Sunny.")));
    const source = { type: "base64", media_type: "image/png", data: "iVBORw0KGgo=" };
    const results = [
      { type: "tool_result", tool_use_id: "call_a", content: [{ type: "image", source }] },
      { type: "tool_result", tool_use_id: "call_b", is_error: true, content: "no such city" },
      { type: "text", text: "And?" },
    ];
    const next = [...HELLO, { role: "assistant", content }, { role: "user", content: results }];
    expect((await messages({ messages: next })).status).toBe(200);
    expectRequestByDocument(sent());
    expect(sent().input.slice(1)).toEqual([
      { type: "reasoning", summary: [], encrypted_content: "gBARE" },
      { type: "function_call", call_id: "call_a", name: "weather", arguments: '{"city":"Paris"}' },
      { type: "function_call", call_id: "call_b", name: "weather", arguments: '{"city":"Rome"}' },
      {
        type: "function_call_output",
        call_id: "call_a",
        output: [{ type: "input_image", image_url: "data:image/png;base64,iVBORw0KGgo=", detail: "auto" }],
      },
      { type: "function_call_output", call_id: "call_b", output: "The tool failed: no such city" },
      { type: "message", role: "user", content: [{ type: "input_text", text: "And?" }] },
    ]);
  });

  test("CHAT-05 foreign reasoning is dropped: of another family, and of another provider of this family", async () => {
    const details = [
      { type: "reasoning.text", text: "claude", signature: "sig", format: "anthropic-claude-v1" },
      { type: "reasoning.encrypted", data: "azure:gTHEIRS", format: "openai-responses-v1" },
      { type: "reasoning.encrypted", data: "gUNTAGGED", format: "openai-responses-v1" },
    ];
    upstream().next(responseWith(wordsOf("Hello.")));
    const assistant = { role: "assistant", content: "Hi.", reasoning_details: details };
    await chat({ messages: [...HELLO, assistant, { role: "user", content: "And?" }] });
    expect(sent().input.map(({ type }: Json) => type)).toEqual(["message", "message", "message"]);
    expect(JSON.stringify(sent())).not.toMatch(/claude|gTHEIRS|gUNTAGGED|sig/);
  });
});

describe("all other parts", () => {
  test("CHAT-03 CHAT-04 PARAM-01 tool choice, parallel calls, format, verbosity, hints, images and files", async () => {
    upstream().next(responseWith(wordsOf("{}")));
    const content = [
      { type: "text", text: "look" },
      { type: "image_url", image_url: { url: "https://example.com/a.png" } },
      { type: "file", file: { file_data: "data:application/pdf;base64,JVBERi0=", filename: "a.pdf" } },
      { type: "file", file: { file_data: "data:text/plain;base64,aGVsbG8=", filename: "a.txt" } },
    ];
    const answer = await chat({
      messages: [
        { role: "system", content: "Be brief." },
        { role: "user", content },
        { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
        { role: "developer", content: "Please." },
      ],
      tool_choice: { type: "function", function: { name: "weather" } },
      parallel_tool_calls: false,
      response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: SCHEMA } },
      verbosity: "low",
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      max_completion_tokens: 99,
      temperature: 1,
      top_p: 1,
    });
    expect(answer.status, answer.text).toBe(200);
    expectRequestByDocument(sent());
    const { input, ...rest } = sent();
    expect(rest).toMatchObject({
      instructions: "Be brief.",
      tool_choice: { type: "function", name: "weather" },
      parallel_tool_calls: false,
      text: { format: { type: "json_schema", name: "n", strict: true, schema: SCHEMA }, verbosity: "low" },
      prompt_cache_key: "k",
      safety_identifier: "s",
      user: "u",
      max_output_tokens: 99,
    });
    expect(rest).not.toHaveProperty("temperature");
    expect(rest).not.toHaveProperty("top_p");
    expect(input).toEqual([
      {
        type: "message",
        role: "user",
        content: [
          { type: "input_text", text: "look" },
          { type: "input_image", image_url: "https://example.com/a.png", detail: "auto" },
          { type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
          { type: "input_text", text: "a.txt:\nhello" },
        ],
      },
      { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Please." }] },
    ]);
  });

  test("CHAT-04 JSON mode: the instruction stays in the input, where the provider expects it", async () => {
    upstream().next(responseWith(wordsOf("{}")));
    const system = { role: "system", content: "Answer in JSON." };
    await chat({ messages: [system, ...HELLO], response_format: { type: "json_object" }, allowed_tools: ["weather"] });
    expect(sent()).toMatchObject({ text: { format: { type: "json_object" } } });
    expect(sent()).not.toHaveProperty("instructions");
    expect(sent().input[0]).toMatchObject({ role: "system", content: [{ text: "Answer in JSON." }] });
    expect(sent().tool_choice).toEqual({
      type: "allowed_tools",
      mode: "auto",
      tools: [{ type: "function", name: "weather" }],
    });
  });

  test("CHAT-08 refusals, citations and every finish reason, whole and in a stream", async () => {
    const url_citation = { type: "url_citation", url: "https://a.example", title: "A", start_index: 0, end_index: 3 };
    const cited = wordsOf("Sun.", { annotations: [url_citation] });
    const refused = { ...wordsOf(""), content: [{ type: "refusal", refusal: "I will not." }] };
    const cut = (reason: string) => ({ status: "incomplete", incomplete_details: { reason } });
    const cases: readonly (readonly [Json, Json, Json])[] = [
      [cited, {}, { finish_reason: "stop", message: { content: "Sun.", annotations: [{ type: "url_citation" }] } }],
      [refused, {}, { finish_reason: "stop", message: { refusal: "I will not." } }],
      [wordsOf("Su"), cut("max_output_tokens"), { finish_reason: "length", message: { content: "Su" } }],
      [wordsOf("Su"), cut("content_filter"), { finish_reason: "content_filter", message: { content: "Su" } }],
    ];
    for (const [item, end, expected] of cases) {
      upstream().next({ json: responseJson({ output: [item], ...end }) });
      const whole = await chat();
      expect(whole.body.choices[0]).toMatchObject(expected);
      upstream().next({ frames: framesOf([item], (output) => responseJson({ output, ...end })) });
      const chunks = chunksOf((await chat({ stream: true })).text);
      expect(chunks.at(-1).choices[0].finish_reason).toBe(expected.finish_reason);
      const deltas = chunks.map((chunk) => chunk.choices[0].delta);
      expect(deltas.map(({ content }) => content ?? "").join("")).toBe(expected.message.content ?? "");
      expect(deltas.map(({ refusal }) => refusal ?? "").join("")).toBe(expected.message.refusal ?? "");
      const sources = deltas.flatMap(({ annotations }) => annotations ?? []);
      expect(sources).toEqual(whole.body.choices[0].message.annotations ?? []);
    }
  });
});

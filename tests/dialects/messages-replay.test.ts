import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SseReader } from "../../src/kit/sse.ts";
import type { Json, Tenant } from "../support/gateway.ts";
import { loadBytes, loadChunks, loadExchange, scriptOf } from "../support/replay.ts";
import { chunksOf, costNanos, credentialOf, nanosOf, openScene, type Scene } from "../support/scene.ts";

/** Recorded traffic of the messages API, replayed for chat clients. */
const MODEL = "anthropic/claude-sonnet-4-5";
const RECORDINGS = [
  "cache-write-1h",
  "output-config-json-schema",
  "parallel-tools-2",
  "stop-sequence",
  "stream-cache-write",
  "stream-citations",
  "stream-redacted-thinking",
  "stream-text",
  "stream-thinking",
  "stream-tools",
  "thinking-plus-tools",
  "tool-choice-named",
  "web-search",
];

/** The recorded request as a chat client would have made it. */
function chatRequest(recorded: Json): Json {
  const { max_tokens, temperature, system, messages, tools, tool_choice, thinking, stop_sequences } = recorded;
  const own = (tools ?? []).filter((tool: Json) => tool.type === undefined);
  const format = recorded.output_config?.format;
  return {
    model: MODEL,
    max_tokens,
    stream: recorded.stream ?? false,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...messages.flatMap(chatMessages),
    ],
    ...(temperature === undefined ? {} : { temperature }),
    ...(stop_sequences === undefined ? {} : { stop: stop_sequences }),
    ...(thinking === undefined ? {} : { thinking }),
    ...(own.length === 0 ? {} : { tools: own.map(chatTool) }),
    ...(tool_choice === undefined ? {} : { tool_choice: chatChoice(tool_choice) }),
    ...(format === undefined
      ? {}
      : { response_format: { type: "json_schema", json_schema: { name: "n", strict: true, schema: format.schema } } }),
  };
}

function chatTool({ name, description, input_schema }: Json): Json {
  return { type: "function", function: { name, description, parameters: input_schema } };
}

function chatChoice({ type, name }: Json): Json {
  return type === "tool" ? { type: "function", function: { name } } : type;
}

function chatMessages({ role, content }: Json): Json[] {
  const blocks: Json[] = blocksOf(content);
  if (role === "assistant") return [chatMessageOf(blocks)];
  const results = blocks.filter(({ type }) => type === "tool_result");
  const rest = blocks.filter(({ type }) => type !== "tool_result").map(chatPart);
  return [
    ...results.map(({ tool_use_id, content: text }) => ({ role: "tool", tool_call_id: tool_use_id, content: text })),
    ...(rest.length === 0 ? [] : [{ role: "user", content: rest }]),
  ];
}

function chatPart(block: Json): Json {
  if (block.type !== "document") return block;
  const file_data = `data:text/plain;base64,${Buffer.from(block.source.data).toString("base64")}`;
  return { type: "file", file: { file_data, filename: block.title } };
}

/** The chat message, assembled by the test. */
function chatMessageOf(blocks: Json[]): Json {
  const text = blocks.filter(({ type }) => type === "text").map((block) => block.text);
  const calls = blocks.filter(({ type }) => type === "tool_use");
  const thoughts = blocks.filter(({ type }) => type === "thinking" || type === "redacted_thinking");
  const format = "anthropic-claude-v1";
  return {
    role: "assistant",
    content: text.length === 0 ? null : text.join(""),
    ...(thoughts.some(({ thinking }) => thinking)
      ? { reasoning_content: thoughts.map(({ thinking }) => thinking ?? "").join("") }
      : {}),
    ...(thoughts.length === 0
      ? {}
      : {
          reasoning_details: thoughts.map(({ type, thinking, signature, data }, index) =>
            type === "thinking"
              ? { type: "reasoning.text", text: thinking, signature, format, index }
              : { type: "reasoning.encrypted", data, format, index },
          ),
        }),
    ...(calls.length === 0
      ? {}
      : {
          tool_calls: calls.map(({ id, name, input }) => ({
            id,
            type: "function",
            function: { name, arguments: JSON.stringify(input) },
          })),
        }),
  };
}

function blocksOf(content: Json): Json[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** One form for equivalent requests: text as blocks, without defaults and the provider's own tools. */
function plain({ model: _model, stream: _stream, messages, tools, ...rest }: Json): Json {
  const own = (tools ?? [])
    .filter((tool: Json) => tool.type === undefined)
    .map(({ description, ...tool }: Json) => (description ? { ...tool, description } : tool));
  return {
    ...rest,
    ...(own.length === 0 ? {} : { tools: own }),
    messages: messages.map(({ role, content }: Json) => ({
      role,
      content: blocksOf(content).map(({ is_error: _no, citations: _wish, ...block }: Json) =>
        block.type === "tool_result" ? { ...block, content: blocksOf(block.content) } : block,
      ),
    })),
  };
}

/** The recorded reply as one message, a stream assembled. */
function messageIn(bytes: Buffer): Json {
  const text = bytes.toString();
  if (text.trimStart().startsWith("{")) return JSON.parse(text);
  let message: Json;
  for (const { data } of new SseReader(1 << 24).push(bytes)) {
    const event: Json = JSON.parse(data);
    if (event.type === "message_start") message = event.message;
    else if (event.type === "content_block_start") message.content[event.index] = { ...event.content_block, json: "" };
    else if (event.type === "content_block_delta") grow(message.content[event.index], event.delta);
    else if (event.type === "message_delta") {
      Object.assign(message, event.delta);
      message.usage = { ...message.usage, ...event.usage };
    }
  }
  for (const block of message.content)
    if (block.type === "tool_use") block.input = block.json === "" ? {} : JSON.parse(block.json);
  return message;
}

function grow(block: Json, { type, text, thinking, signature, partial_json, citation }: Json): void {
  if (type === "text_delta") block.text += text;
  else if (type === "thinking_delta") block.thinking += thinking;
  else if (type === "signature_delta") block.signature += signature;
  else if (type === "input_json_delta") block.json += partial_json;
  else if (type === "citations_delta") block.citations.push(citation);
}

const FINISHES: Readonly<Record<string, string>> = {
  end_turn: "stop",
  stop_sequence: "stop",
  max_tokens: "length",
  tool_use: "tool_calls",
};

describe("recorded traffic of the messages API", () => {
  let scene: Scene;
  let tenant: Tenant;
  let client: OpenAI;
  beforeAll(async () => {
    scene = await openScene(["anthropic"]);
    tenant = await scene.gateway.tenant();
    client = new OpenAI({ baseURL: `${scene.gateway.url}/v1`, apiKey: tenant.key, maxRetries: 0 });
  });
  afterAll(() => scene?.close());

  /** A whole reply, or a stream folded by the official SDK, in one form. */
  async function ask(request: Json): Promise<{ message: Json; finish: string; usage: Json; id: string }> {
    if (!request.stream) {
      const { choices, usage, id }: Json = await client.chat.completions.create(request);
      return { message: choices[0].message, finish: choices[0].finish_reason, usage, id };
    }
    const extras: Json = { details: [], annotations: [], reasoning: "" };
    const stream = client.chat.completions.stream({ ...request, stream_options: { include_usage: true } });
    stream.on("chunk", ({ choices }: Json) => {
      extras.details.push(...(choices[0]?.delta.reasoning_details ?? []));
      extras.annotations.push(...(choices[0]?.delta.annotations ?? []));
      extras.reasoning += choices[0]?.delta.reasoning_content ?? "";
    });
    const { choices, usage, id }: Json = await stream.finalChatCompletion();
    const {
      parsed: _parsed,
      reasoning_details: _r,
      reasoning_content: _c,
      annotations: _a,
      ...message
    } = choices[0].message;
    for (const call of message.tool_calls ?? []) delete call.function.parsed_arguments;
    return {
      message: {
        ...message,
        ...(extras.reasoning === "" ? {} : { reasoning_content: extras.reasoning }),
        ...(extras.details.length === 0 ? {} : { reasoning_details: extras.details }),
        ...(extras.annotations.length === 0 ? {} : { annotations: extras.annotations }),
      },
      finish: choices[0].finish_reason,
      usage,
      id,
    };
  }

  /** Arguments as parsed JSON: a stream keeps the model's whitespace. */
  const parsedCalls = ({ tool_calls = [], ...message }: Json) => ({
    ...message,
    tool_calls: tool_calls.map(({ id, function: { name, arguments: text } }: Json) => ({
      id,
      name,
      input: JSON.parse(text),
    })),
  });

  test.each(RECORDINGS)(
    "CHAT-01 CHAT-07 BILL-05 %s: the provider's request and the client's reply equal the recording",
    async (name) => {
      for (const recorded of loadExchange(`d2-anthropic-messages/${name}`).interactions) {
        scene.at("anthropic").next(scriptOf(recorded));
        const { message, finish, usage, id } = await ask(chatRequest(recorded.request.json));
        const received = scene.at("anthropic").requests.at(-1);

        expect(received?.path).toBe("/v1/messages");
        expect(received?.headers).toMatchObject({
          "x-api-key": credentialOf("anthropic"),
          "anthropic-version": "2023-06-01",
        });
        expect(received?.headers.authorization).toBeUndefined();
        expect(plain(received?.json)).toEqual(plain(recorded.request.json));

        const given = messageIn(recorded.response.body);
        const { annotations = [], ...rest } = message;
        expect(parsedCalls(rest)).toEqual(parsedCalls({ ...chatMessageOf(given.content), refusal: null }));
        expect(annotations).toHaveLength(given.content.flatMap((block: Json) => block.citations ?? []).length);
        expect(finish).toBe(FINISHES[given.stop_reason]);
        expect(id).toMatch(/^chatcmpl-/);
        await checkBooks(given.usage, usage, id);
      }
    },
  );

  async function checkBooks(given: Json, usage: Json, id: string): Promise<void> {
    const {
      input_tokens,
      output_tokens,
      cache_read_input_tokens: read = 0,
      cache_creation_input_tokens: written = 0,
    } = given;
    const input = input_tokens + read + written;
    const hourLong = given.cache_creation?.ephemeral_1h_input_tokens ?? 0;
    const used = { input, cached: read, written, hourLong, output: output_tokens };
    const nanos = costNanos("anthropic", used, "EUR", MODEL);
    expect(usage).toEqual({
      prompt_tokens: input,
      completion_tokens: output_tokens,
      total_tokens: input + output_tokens,
      prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written },
      // Not zero where the provider does not count it.
      ...(given.output_tokens_details?.thinking_tokens === undefined
        ? {}
        : { completion_tokens_details: { reasoning_tokens: given.output_tokens_details.thinking_tokens } }),
      cost: Number(nanos) / 1e9,
      currency: "EUR",
    });
    const row = await scene.row(id);
    expect(nanosOf(row.cost)).toBe(nanos);
    expect(row.usage).toMatchObject({
      input_tokens: input,
      cached_tokens: read,
      cache_write_tokens: written,
      estimated: false,
    });
  }

  test("CHAT-08 a streamed refusal: content_filter, and the provider's reason as the refusal", async () => {
    const body = loadChunks("d2-anthropic-messages/refusal", "no_marker");
    scene.at("anthropic").next({ body, headers: { "content-type": "text/event-stream" } });
    const { text } = await scene.chat(tenant.key, { model: MODEL, stream: true });
    const [first, second] = chunksOf(text).map(({ choices }) => choices[0]);
    expect(first.delta).toEqual({ role: "assistant", content: "", refusal: null });
    expect(second.delta.refusal).toContain("Usage Policy");
    expect(chunksOf(text).at(-1).choices[0].finish_reason).toBe("content_filter");
    expect(text.endsWith("data: [DONE]\n\n")).toBe(true);
  });

  test("ERR-02 BILL-02 overloaded in the middle of a stream: an error frame, no end marker, no charge", async () => {
    const payer = await scene.gateway.tenant();
    const body = loadBytes("synthetic/anthropic-midstream-overloaded.sse.txt");
    scene.at("anthropic").next({ body, headers: { "content-type": "text/event-stream" } });
    const { status, text } = await scene.chat(payer.key, { model: MODEL, stream: true });
    expect(status).toBe(200);
    expect(text).toContain('"content":"Hel"');
    expect(chunksOf(text).at(-1).error).toMatchObject({ code: "upstream_error", request_id: expect.any(String) });
    expect(text).not.toContain("[DONE]");
    expect(await scene.charges(payer)).toEqual([]);
  });

  test("ERR-06 an invalid key of the operator is not shown to the caller", async () => {
    const [recorded] = loadExchange("d2-anthropic-messages/err-401").interactions;
    if (recorded === undefined) throw new Error("empty recording");
    scene.at("anthropic").next(scriptOf(recorded));
    const { status, text, body } = await scene.chat(tenant.key, { model: MODEL });
    expect(status).toBe(502);
    expect(body.error.code).toBe("upstream_error");
    expect(text).not.toContain("x-api-key");
  });
});

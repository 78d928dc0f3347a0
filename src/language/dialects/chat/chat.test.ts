import { expect, test } from "vitest";
import { headOf, usable } from "../../../../tests/support/chat.ts";
import { ChatRequest } from "../../../contract/schemas/chat.ts";
import { parseJsonText, patchMembers } from "../../../kit/json.ts";
import { SseReader } from "../../../kit/sse.ts";
import { isParameter } from "../../canon/parameters.ts";
import { ROUTING_HINT_FIELDS } from "../../canon/routing-hints.ts";
import { weightOf } from "../../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../../canon/usage.ts";
import { decodeRequest } from "./client/request.ts";
import { ALIASES, CALL_FIELDS } from "./fields.ts";
import { decodePassthroughReply } from "./passthrough/reply.ts";
import { requestPatches } from "./passthrough/request.ts";
import { PassthroughChatStream } from "./passthrough/stream.ts";
import { decodeProblem } from "./upstream/errors.ts";
import { decodeUsage } from "./usage.ts";

const MINIMAL = { model: "m", messages: [{ role: "user", content: "hi" }] };

function sentUpstream(text: string): { text: string; value: Record<string, unknown> } {
  const body = parseJsonText(text);
  if ("problem" in body) throw new Error(body.problem);
  const request = ChatRequest.parse(body.value);
  const out = patchMembers(
    body,
    requestPatches(request, decodeRequest(request), { upstreamModel: "up/model", outputLimit: null, quirks: [] }),
  );
  return { text: out, value: JSON.parse(out) };
}

test("every request field has a row, is an alias of one, or belongs to the call itself", () => {
  for (const field of Object.keys(ChatRequest.shape)) {
    const isWish = ROUTING_HINT_FIELDS.some((wish) => wish === field);
    const known = isWish || CALL_FIELDS.has(field) || isParameter(ALIASES.get(field) ?? field);
    expect(known, field).toBe(true);
  }
});

test("only the model changes in a plain request, to the byte", () => {
  const text =
    '{ "model" : "m" , "messages":[ {"role":"user","content":"h\\u00efé", "unknown_inside": 1e3} ],"temperature":0.70 }';
  expect(sentUpstream(text).text).toBe(text.replace('"m"', '"up/model"'));
});

test("a stream always requests usage and keeps the client's other options", () => {
  const { value } = sentUpstream(
    JSON.stringify({ ...MINIMAL, stream: true, stream_options: { include_obfuscation: false } }),
  );
  expect(value["stream_options"]).toEqual({ include_obfuscation: false, include_usage: true });
});

test("routing hints never reach the provider; aliases become the dialect's own field", () => {
  const { value } = sentUpstream(
    JSON.stringify({
      ...MINIMAL,
      session_id: "s",
      cost_tier: "low",
      remaining_turns: 3,
      thinking: { type: "enabled", budget_tokens: 1024 },
    }),
  );
  expect(Object.keys(value).sort()).toEqual(["messages", "model", "reasoning_effort"]);
  expect(value["reasoning_effort"]).toBe("low");
  expect(sentUpstream(JSON.stringify({ ...MINIMAL, reasoning: { effort: "high" } })).value["reasoning_effort"]).toBe(
    "high",
  );
  expect(sentUpstream(JSON.stringify({ ...MINIMAL, thinking: { type: "disabled" } })).value["reasoning_effort"]).toBe(
    "none",
  );
});

test("allowed tools become the dialect's tool choice", () => {
  const tools = [{ type: "function", function: { name: "a" } }];
  const { value } = sentUpstream(JSON.stringify({ ...MINIMAL, tools, allowed_tools: ["a"], tool_choice: "required" }));
  expect(value["tool_choice"]).toEqual({
    type: "allowed_tools",
    allowed_tools: { mode: "required", tools: [{ type: "function", function: { name: "a" } }] },
  });
  expect(value["allowed_tools"]).toBeUndefined();
});

test("an explicit null is the same as absent", () => {
  const call = decodeRequest(ChatRequest.parse({ ...MINIMAL, temperature: null, tools: null, top_k: null }));
  expect(call.parameters).toEqual([]);
});

test("every kind of turn and part is decoded in order", () => {
  const call = decodeRequest(
    ChatRequest.parse({
      model: "m",
      messages: [
        { role: "system", content: [{ type: "text", text: "s" }] },
        {
          role: "user",
          content: [
            { type: "text", text: "look" },
            { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
            { type: "image_url", image_url: { url: "https://example.invalid/a.png" } },
            { type: "input_audio", input_audio: { data: "BBBB", format: "wav" } },
            { type: "file", file: { file_id: "file-1" } },
          ],
        },
        {
          role: "assistant",
          content: null,
          reasoning_content: "r",
          tool_calls: [{ id: "c1", type: "function", function: { name: "f", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "c1", content: "42" },
      ],
    }),
  );
  expect(call.turns.map((turn) => turn.parts.map((part) => part.is))).toEqual([
    ["text"],
    ["text", "image", "image", "audio", "file"],
    ["reasoning", "tool_call"],
    ["tool_result"],
  ]);
  expect(call.turns[1]?.parts[1]).toEqual({
    is: "image",
    source: { is: "inline", mediaType: "image/png", base64: "AAAA" },
  });
});

const USAGE: Usage = {
  inputTokens: 10,
  cachedTokens: 4,
  cacheWriteTokens: 0,
  outputTokens: 5,
  reasoningTokens: 2,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};

test.each([
  [
    "plain",
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    USAGE,
  ],
  [
    "reasoning left out of completion, known by the total",
    {
      prompt_tokens: 10,
      completion_tokens: 3,
      total_tokens: 15,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    USAGE,
  ],
  [
    "cache hits under another name",
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      prompt_cache_hit_tokens: 4,
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    USAGE,
  ],
  [
    "BILL-05 cache hits beside the other figures",
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      total_tokens: 15,
      cached_tokens: 4,
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    USAGE,
  ],
  [
    "BILL-05 cache hits told twice are counted once",
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      cached_tokens: 4,
      prompt_tokens_details: { cached_tokens: 4 },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    USAGE,
  ],
  [
    "BILL-05 what an explicit cache was given is a part of the prompt",
    {
      prompt_tokens: 10,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4, cache_creation_input_tokens: 6, cache_type: "ephemeral" },
      completion_tokens_details: { reasoning_tokens: 2 },
    },
    { ...USAGE, cacheWriteTokens: 6 },
  ],
  [
    "more read from and written to a cache than sent",
    {
      prompt_tokens: 9,
      completion_tokens: 5,
      prompt_tokens_details: { cached_tokens: 4, cache_creation_input_tokens: 6 },
    },
    IMPLAUSIBLE_TOKENS,
  ],
  [
    "zero is zero",
    { prompt_tokens: 0, completion_tokens: 0 },
    { ...USAGE, inputTokens: 0, cachedTokens: 0, outputTokens: 0, reasoningTokens: 0, isReasoningUncounted: true },
  ],
  ["nothing", {}, undefined],
  ["one figure only", { prompt_tokens: 10 }, undefined],
  ["the other figure only", { completion_tokens: 5, total_tokens: 15 }, undefined],
  ["negative", { prompt_tokens: -1, completion_tokens: 5 }, IMPLAUSIBLE_TOKENS],
  [
    "more cached than sent",
    { prompt_tokens: 3, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 4 } },
    IMPLAUSIBLE_TOKENS,
  ],
  ["absurd", { prompt_tokens: 1e15, completion_tokens: 5 }, IMPLAUSIBLE_TOKENS],
  ["a fraction", { prompt_tokens: 1.5, completion_tokens: 5 }, IMPLAUSIBLE_TOKENS],
  ["text", { prompt_tokens: "10", completion_tokens: 5 }, undefined],
  ["null", null, undefined],
])("usage: %s", (_name, wire, expected) => {
  expect(decodeUsage(wire)).toEqual(expected);
});

const frame = (value: unknown) => ({ event: null, data: typeof value === "string" ? value : JSON.stringify(value) });
const chunk = (delta: unknown, more: object = {}) => ({
  id: "up-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta, finish_reason: null }],
  ...more,
});
const finishing = {
  id: "up-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
};
const figures = {
  id: "up-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
};

test("only the top-level id of a frame changes, never a tool call's", () => {
  const stream = new PassthroughChatStream(headOf("chatcmpl-ours"), false);
  const wire = {
    id: "up-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [
      {
        index: 0,
        delta: { tool_calls: [{ index: 0, id: "up-1", type: "function", function: { name: "f", arguments: "" } }] },
        finish_reason: null,
      },
    ],
  };
  const piece = stream.read(frame(wire));
  expect(piece).toEqual({
    is: "content",
    text: `data: ${JSON.stringify(wire).replace('"up-1"', '"chatcmpl-ours"')}\n\n`,
  });
  expect(stream.upstreamId).toBe("up-1");
});

test("an id that is not first, is empty or is missing is replaced too", () => {
  for (const wire of [
    '{"object":"x","id":"up","choices":[]}',
    '{"id":"","choices":[]}',
    '{"choices":[]}',
    '{ "id" : "u\\"p", "choices": []}',
  ]) {
    const piece = new PassthroughChatStream(headOf("ours"), false).read(frame(wire));
    if (piece.is !== "preamble") throw new Error(piece.is);
    expect(JSON.parse(piece.text.slice(6))).toMatchObject({ id: "ours", choices: [] });
  }
});

test("a multi-line event is relayed in one line; a line break inside a string is malformed", () => {
  const lines = '{"id":"x",\n"choices":[{"index":0,\n"delta":{"content":"hi"},"finish_reason":null}]}';
  const piece = new PassthroughChatStream(headOf("ours"), false).read(frame(lines));
  expect(piece).toMatchObject({ is: "content" });
  const text = "text" in piece ? piece.text : "";
  expect(text.match(/\n/g)).toHaveLength(2);
  expect(JSON.parse(text.slice("data: ".length))).toEqual({ ...JSON.parse(lines), id: "ours" });
  const broken = '{"id":"x","choices":[{"index":0,"delta":{"content":"a\nb"},"finish_reason":null}]}';
  expect(new PassthroughChatStream(headOf("ours"), false).read(frame(broken))).toEqual({ is: "malformed" });
});

test("a role, a comment or usage alone is not content", () => {
  const stream = new PassthroughChatStream(headOf("ours"), true);
  expect(stream.read(frame(chunk({ role: "assistant", content: "" }))).is).toBe("preamble");
  expect(stream.read(frame(chunk({ content: "a" }))).is).toBe("content");
  expect(stream.read(frame(chunk({ reasoning_content: "a" }))).is).toBe("content");
  expect(stream.read(frame(finishing)).is).toBe("content");
  expect(stream.read(frame(figures)).is).toBe("usage");
  expect(stream.read(frame("[DONE]"))).toEqual({ is: "end", text: "" });
  expect(stream.usage?.outputTokens).toBe(5);
});

test("CHAT-06 usage with its cost goes to the client only on request", () => {
  const asked = new PassthroughChatStream(headOf("ours"), true);
  const silent = new PassthroughChatStream(headOf("ours"), false);
  for (const stream of [asked, silent]) stream.read(frame(figures));
  expect(silent.close(USAGE, { cost: 0.5, currency: "EUR" })).toBe("data: [DONE]\n\n");
  const [usageFrame, end] = new SseReader(10_000).push(Buffer.from(asked.close(USAGE, { cost: 0.5, currency: "EUR" })));
  expect(JSON.parse(usageFrame?.data ?? "")).toMatchObject({
    id: "ours",
    choices: [],
    usage: { prompt_tokens: 10, total_tokens: 15, cost: 0.5, currency: "EUR" },
  });
  expect(end?.data).toBe("[DONE]");
});

test("usage beside content is removed and sent once at the end; the last report wins", () => {
  const stream = new PassthroughChatStream(headOf("ours"), true);
  const first = stream.read(frame(chunk({ content: "a" }, { usage: { prompt_tokens: 10, completion_tokens: 1 } })));
  const second = stream.read(frame({ ...finishing, usage: { prompt_tokens: 10, completion_tokens: 2 } }));
  for (const piece of [first, second]) expect(piece.is === "content" && piece.text.includes("usage")).toBe(false);
  expect(stream.usage?.outputTokens).toBe(2);
  expect(stream.close(stream.usage ?? USAGE, undefined)).toContain('"completion_tokens":2');
});

test("BILL-05 usage in the finishing choice counts only if there is no other", () => {
  const within = (usage: object) => ({ ...finishing, choices: [{ ...finishing.choices[0], usage }] });
  const told = { prompt_tokens: 10, completion_tokens: 7, total_tokens: 17, cached_tokens: 4 };
  const stream = new PassthroughChatStream(headOf("ours"), true);
  expect(stream.read(frame(within(told))).is).toBe("content");
  expect(stream.usage).toMatchObject({ inputTokens: 10, cachedTokens: 4, outputTokens: 7 });
  expect(stream.close(stream.usage ?? USAGE, undefined)).toContain('"completion_tokens":7');
  stream.read(frame(figures));
  expect(stream.usage).toMatchObject({ inputTokens: 10, cachedTokens: 0, outputTokens: 5 });
  const both = new PassthroughChatStream(headOf("ours"), true);
  both.read(frame({ ...within(told), usage: figures.usage }));
  expect(both.usage).toMatchObject({ inputTokens: 10, cachedTokens: 0, outputTokens: 5 });
});

test("errors inside a stream and malformed frames are distinguished", () => {
  const stream = new PassthroughChatStream(headOf("ours"), false);
  expect(stream.read(frame({ error: { message: "boom", code: 503 } }))).toMatchObject({
    is: "problem",
    problem: { message: "boom", status: 503 },
  });
  expect(stream.read(frame("<html>")).is).toBe("malformed");
  expect(stream.read(frame({ hello: 1 })).is).toBe("malformed");
});

test("a whole reply keeps its bytes except id and usage", () => {
  const wire =
    '{\n "id": "up-1", "object":"chat.completion", "choices":[{"index":0,"message":{"role":"assistant","content":"h\\u00ef"},"finish_reason":"stop"}], "usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":15}, "x":1.50 }';
  const answer = usable(decodePassthroughReply(Buffer.from(wire), "chatcmpl-ours"));
  const text = answer.render(USAGE, { cost: 0.25, currency: "EUR" });
  expect(
    text.startsWith(
      '{\n "id": "chatcmpl-ours", "object":"chat.completion", "choices":[{"index":0,"message":{"role":"assistant","content":"h\\u00ef"}',
    ),
  ).toBe(true);
  expect(text.endsWith('"x":1.50 }')).toBe(true);
  expect(JSON.parse(text)["usage"]).toMatchObject({ prompt_tokens: 10, cost: 0.25, currency: "EUR" });
  expect(answer.outputWeight).toBe(weightOf("hï"));
});

test.each(["", "<html>", "[]", "{}", '{"choices":[]}', '{"choices":[1]}', '{"error":{}}', '{"choices":{}}'])(
  "not a reply: %s",
  (text) => {
    expect(decodePassthroughReply(Buffer.from(text), "ours")).toBeUndefined();
  },
);

test.each([
  [{ error: { message: "no", type: "t", code: "c" } }, { message: "no", type: "t", code: "c" }],
  [{ detail: "Invalid API Key" }, { message: "Invalid API Key" }],
  [{ detail: [{ loc: [], msg: "bad", type: "x" }] }, { message: "bad" }],
  [[{ error: { message: "listed", code: 429 } }], { message: "listed", status: 429 }],
  [
    { object: "error", message: "flat", type: "t", code: "3" },
    { message: "flat", code: "3" },
  ],
  [{ error: "just text" }, { message: "just text" }],
  [undefined, { message: "the provider stated no reason" }],
])("error shape %j", (body, expected) => {
  expect(decodeProblem(body, 400)).toMatchObject(expected);
});

test.each([
  ["Please try again in 7.2s. Visit the page.", 8],
  ["Please try again in 340ms.", 1],
  ["Please try again in 6m0s.", 360],
  ["Try again in 1h2m3.5s", 3724],
  ["Try again in a while.", undefined],
  ["Please try again in 20.", undefined],
])("RATE-07 the retry delay is read from the message: %s", (message, seconds) => {
  expect(decodeProblem({ error: { message } }, 429).retryAfterSeconds).toBe(seconds);
});

test("frames that match the template decode as if parsed alone", () => {
  const words = [
    "plain",
    " ü🌧 ",
    'q"uote',
    "back\\slash",
    "new\nline",
    "",
    "usage",
    '"}],"usage":{"prompt_tokens":1}}',
  ];
  const frames = words.flatMap((word) => [
    chunk({ content: word }),
    chunk({ reasoning_content: word }),
    chunk({ content: word }),
  ]);
  const whole = new PassthroughChatStream(headOf("chatcmpl-ours"), false);
  let chars = 0;
  for (const one of frames) {
    const alone = new PassthroughChatStream(headOf("chatcmpl-ours"), false);
    expect(whole.read(frame(one))).toEqual(alone.read(frame(one)));
    chars += alone.outputWeight;
  }
  expect(whole.outputWeight).toBe(chars);
  expect(whole.read(frame(finishing)).is).toBe("content");
  expect(whole.isFinished).toBe(true);
});

test("CHAT-06 clients that did not request usage see no null usage, on the slow and the fast path", () => {
  const empty = (delta: Record<string, unknown>) => ({ ...chunk(delta), usage: null });
  const wanted = new PassthroughChatStream(headOf("ours"), true);
  const silent = new PassthroughChatStream(headOf("ours"), false);
  for (const word of ["one", "two", 'th"ree', "four"]) {
    const shown = wanted.read(frame(empty({ content: word })));
    const hidden = silent.read(frame(empty({ content: word })));
    if (shown.is !== "content" || hidden.is !== "content") throw new Error("no content");
    expect(JSON.parse(shown.text.slice(6))).toEqual({ ...empty({ content: word }), id: "ours" });
    expect(JSON.parse(hidden.text.slice(6))).toEqual({ ...chunk({ content: word }), id: "ours" });
  }
  const begun = silent.read(frame({ usage: null, ...chunk({ role: "assistant", content: "" }) }));
  expect(begun.is === "preamble" && begun.text.includes("usage")).toBe(false);
});

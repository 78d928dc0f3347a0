import { describe, expect, test } from "vitest";
import type { Json } from "../../../../../tests/support/gateway.ts";
import {
  eventsIn,
  responseEvents,
  responseFrames,
  responseJson,
} from "../../../../../tests/support/responses-native.ts";
import { envelopeOf } from "../../../../contract/error-envelope.ts";
import { fault } from "../../../../contract/faults.ts";
import { type JsonObject, parseJsonText, patchMembers } from "../../../../kit/json.ts";
import { SseReader } from "../../../../kit/sse.ts";
import { weightOf } from "../../../canon/tokens.ts";
import { IMPLAUSIBLE_TOKENS, type Usage } from "../../../canon/usage.ts";
import { decodeStreamProblem } from "../upstream/errors.ts";
import { decodeUsage } from "../upstream/usage.ts";
import { decodePassthroughReply, type ResponseOwnership, usageText } from "./reply.ts";
import { type PassthroughResponsesFacts, requestPatches } from "./request.ts";
import { PassthroughResponsesStream } from "./stream.ts";

const FACTS: PassthroughResponsesFacts = { upstreamModel: "up", provider: "openai", encryptsReasoning: false };

function sent(
  body: JsonObject,
  items: JsonObject[] = [],
  echo: JsonObject = {},
  facts: Partial<PassthroughResponsesFacts> = {},
) {
  const parsed = parseJsonText(JSON.stringify({ model: "m", ...body }));
  if ("problem" in parsed) throw new Error(parsed.problem);
  const { patches, dropped } = requestPatches({ body: parsed, items, echo }, { ...FACTS, ...facts });
  const text = patchMembers(parsed, patches);
  const value: Json = JSON.parse(text);
  return { text, value, dropped };
}

const USER = { role: "user", content: "hi" };
const CALL = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
const THOUGHT = { type: "reasoning", summary: [] };

describe("the request to a provider of the same dialect", () => {
  test("RESP-01 RESP-05 it is the caller's except model, state and the gateway's own fields", () => {
    const own = { background: false, session_id: "s", cost_tier: "low", remaining_turns: 2 };
    const { text, dropped } = sent({ input: "hi", store: true, ...own, unknown: 1.0 });
    expect(text).toBe('{"model":"up","input":"hi","store":false,"unknown":1}');
    expect(dropped).toEqual([]);
    expect(sent({ input: [USER] }).text).toBe('{"model":"up","input":[{"role":"user","content":"hi"}],"store":false}');
  });

  test("RESP-01 remaining tools keep the digits of their numbers when others are dropped", () => {
    const tools = [
      { type: "web_search" },
      { type: "function", parameters: { const: JSON.rawJSON("9007199254740993") } },
    ];
    const { text, dropped } = sent({ input: "hi", tools }, [], {}, { droppedTools: [0] });
    expect(text).toContain('"tools":[{"type":"function","parameters":{"const":9007199254740993}}]');
    expect(dropped).toEqual(["tools[]"]);
  });

  test("RESP-05 stored history replaces the reference to it", () => {
    const { value } = sent({ input: "go on", previous_response_id: "resp_1" }, [USER, { role: "user", content: "go" }]);
    expect(value).toEqual({ model: "up", input: [USER, { role: "user", content: "go" }], store: false });
  });

  test("RESP-05 item ids are removed, except those the dialect requires", () => {
    const search = { type: "web_search_call", id: "ws_1", status: "completed", action: { type: "search" } };
    const sealed = { ...THOUGHT, id: "rs_1", status: null, encrypted_content: "gAAA", content: null };
    const input = [{ ...USER, id: "msg_1", type: "message" }, sealed, { ...CALL, id: "fc_1", status: "completed" }];
    expect(sent({ input: [...input, search] }).value.input).toEqual([
      { ...USER, type: "message" },
      { ...THOUGHT, content: null, encrypted_content: "gAAA" },
      { ...CALL, status: "completed" },
      search,
    ]);
  });

  test("RESP-05 an unresolved reference is rejected with its path", () => {
    const reference = { type: "item_reference", id: "msg_9" };
    expect(() => sent({ input: [USER, reference] }, [USER, reference])).toThrow(
      expect.objectContaining({ code: "invalid_value", param: "input.1" }),
    );
    expect(sent({ input: [reference] }, [USER]).value.input).toEqual([USER]);
  });

  test("RESP-05 encrypted reasoning goes back to its provider only", () => {
    const made = (encrypted_content: string) => ({ ...THOUGHT, encrypted_content });
    const input = [
      made("gw1:responses.openai:abc"),
      CALL,
      made("gw1:responses.azure:abc"),
      made("gw1:anthropic:abc"),
      made("as-sent"),
    ];
    const { value, dropped } = sent({ input });
    expect(value.input).toEqual([made("abc"), CALL, made("as-sent")]);
    expect(dropped).toEqual(["input[]"]);
    const azure = sent({ input }, [], {}, { provider: "azure" });
    expect(azure.value.input).toEqual([CALL, made("abc"), made("as-sent")]);
    const history = sent({ input: "x", previous_response_id: "r" }, [made("gw1:google:x"), CALL, USER]);
    expect(history.dropped).toEqual(["previous_response_id"]);
  });

  test("unreadable reasoning is dropped; plain text is sent", () => {
    const open = { ...THOUGHT, content: [{ type: "reasoning_text", text: "hm" }] };
    const { value, dropped } = sent({ input: [{ ...THOUGHT, id: "rs_1" }, { ...open, id: "rs_2" }, USER] });
    expect([value.input, dropped]).toEqual([[open, USER], ["input[]"]]);
  });

  test("a compacted conversation of another provider is rejected, since nothing would remain", () => {
    const item = (encrypted_content: string) => ({ type: "compaction", encrypted_content });
    expect(sent({ input: [item("gw1:responses.openai:c")] }).value.input).toEqual([item("c")]);
    expect(() => sent({ input: [item("gw1:responses.azure:c")] })).toThrow(
      expect.objectContaining({ param: "input.0.encrypted_content" }),
    );
  });

  test("RESP-05 encrypted reasoning is requested if the response is stored and the provider supports it", () => {
    const facts = { encryptsReasoning: true };
    const asked = ["reasoning.encrypted_content"];
    expect(sent({ input: "x" }, [], { store: true }, facts).value.include).toEqual(asked);
    expect(sent({ input: "x", include: ["a"] }, [], { store: true }, facts).value.include).toEqual(["a", ...asked]);
    expect(sent({ input: "x", include: asked }, [], { store: true }, facts).value.include).toEqual(asked);
    expect(sent({ input: "x" }, [], { store: false }, facts).value).not.toHaveProperty("include");
    expect(sent({ input: "x" }, [], { store: true }).value).not.toHaveProperty("include");
  });
});

const OWNERSHIP: ResponseOwnership = {
  head: { id: "resp_own", createdSeconds: 7, model: "m", inputTokens: 3 },
  provider: "openai",
  echo: { store: true, background: false, previous_response_id: "resp_before" },
};
const COUNTED: Usage = {
  inputTokens: 40,
  cachedTokens: 8,
  cacheWriteTokens: 0,
  outputTokens: 12,
  reasoningTokens: 5,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};
const SHOWN = { cost: 0.5, currency: "EUR" };

describe("the whole reply of a provider of the same dialect", () => {
  test.each([
    ["an error", { error: { code: "server_error", message: "no" } }],
    ["a failure", { status: "failed" }],
    ["work that goes on elsewhere", { status: "queued" }],
    ["no output", { output: undefined }],
  ])("%s is not a reply", (_, more) => {
    expect(decodePassthroughReply(Buffer.from(JSON.stringify(responseJson(more))), OWNERSHIP)).toBe(undefined);
  });

  test("RESP-01 every character stays except id, state, signatures and usage", () => {
    const text = `{ "x_new": 1.0, "id":"resp_1", "output": [ {"type":"reasoning","encrypted_content" : "ab\\"c", "summary":[]},
      {"type":"message","content":[{"type":"output_text","text":"{\\"encrypted_content\\":\\"no\\"}"}]} ], "store":false,
      "usage": {"input_tokens":40,"output_tokens":12,"x_more":2.50} }`;
    const reply = decodePassthroughReply(Buffer.from(text), OWNERSHIP);
    const expected = text
      .replace('"resp_1"', '"resp_own"')
      .replace(': "ab', ': "gw1:responses.openai:ab')
      .replace('"store":false', '"store":true')
      .replace("2.50}", '2.50,"cost":0.5,"currency":"EUR"}')
      .replace(/ }$/, ' ,"background":false,"previous_response_id":"resp_before"}');
    expect(reply?.render(COUNTED, SHOWN)).toBe(expected);
    expect([reply?.upstreamId, reply?.outputWeight]).toEqual(["resp_1", 26]);
  });
});

function readAll(frames: readonly string[], cut: number) {
  const stream = new PassthroughResponsesStream(OWNERSHIP);
  const reader = new SseReader(1 << 20);
  const bytes = Buffer.from(frames.join(""));
  const kinds: string[] = [];
  let text = "";
  const take = (list: ReturnType<SseReader["push"]>) => {
    for (const frame of list) {
      if (kinds.at(-1) === "end") return;
      const piece = stream.read(frame);
      kinds.push(piece.is);
      if ("text" in piece) text += piece.text;
    }
  };
  for (let at = 0; at < bytes.length; at += cut) take(reader.push(bytes.subarray(at, at + cut)));
  take(reader.end());
  return { stream, kinds, text };
}

describe("the stream of a provider of the same dialect", () => {
  test("any split gives the same bytes", () => {
    const frames = responseFrames(["Grüße", " 🌧"]);
    const whole = readAll(frames, 1 << 20);
    for (let cut = 1; cut < 40; cut += 1) expect(readAll(frames, cut).text).toBe(whole.text);
    expect(whole.kinds).toEqual(["preamble", "preamble", ...Array(7).fill("content"), "end"]);
    expect(whole.stream.outputWeight).toBe(weightOf("Grüße 🌧"));
    expect(whole.stream.usage).toEqual(COUNTED);
  });

  test("missing names, sequence numbers and end markers are filled in", () => {
    const bare = responseEvents(["Hi"]).map(({ sequence_number: _, ...event }) => `data: ${JSON.stringify(event)}\n\n`);
    const { stream, text } = readAll([...bare, "data: [DONE]\n\n"], 64);
    const all = text + stream.close(COUNTED, SHOWN);
    const numbers = [...all.matchAll(/"sequence_number":(\d+)/g)].map(([, number]) => Number(number));
    expect(numbers).toEqual([...Array(bare.length).keys()]);
    expect(all.split("\n\n").filter((block) => block.startsWith("event: response."))).toHaveLength(bare.length);
    expect(all).not.toContain("[DONE]");
  });

  test("the stored response is the last one that was shown", () => {
    const { stream } = readAll(responseFrames(["Hi"]), 1 << 20);
    const last: Json = JSON.parse(stream.close(COUNTED, SHOWN).split("data: ")[1] ?? "");
    expect(JSON.parse(stream.finalJson ?? "")).toEqual(last.response);
    expect(last.response).toMatchObject({ id: "resp_own", store: true, usage: { cost: 0.5, currency: "EUR" } });
  });

  const envelope = envelopeOf(fault("upstream_error", { message: "It broke." }), "resp_own");

  test("ERR-02 a broken stream ends with one error and one failed response, with continued numbers", () => {
    const frames = responseFrames(["Hi", " you"]);
    for (const [read, id, begin] of [
      [frames.slice(0, 5), "resp_before", []],
      [frames.slice(2, 5), undefined, []],
      [[], undefined, ["response.created", "response.in_progress"]],
    ] as const) {
      const { stream } = readAll(read, 1 << 20);
      const events = eventsIn(stream.fail(envelope));
      const [error, failed] = events.slice(-2);
      expect(events.map(({ type }) => type)).toEqual([...begin, "error", "response.failed"]);
      const first = read.length === 0 ? 0 : 5;
      expect(events.map(({ sequence_number }) => sequence_number)).toEqual(events.map((_, at) => first + at));
      expect(error).toMatchObject({ type: "error", code: "upstream_error", error: { request_id: "resp_own" } });
      expect(failed.response).toMatchObject({ id: "resp_own", status: "failed", error: { code: "server_error" } });
      if (id !== undefined) expect(failed.response.previous_response_id).toBe(id);
      expect(JSON.parse(stream.finalJson ?? "")).toEqual(failed.response);
    }
  });

  test.each<[string, Json, Json]>([
    ["nested", { type: "error", error: { code: "rate_limit_exceeded", message: "slow" } }, { status: 429 }],
    ["flat", { type: "error", code: "invalid_prompt", message: "bad", param: null }, { status: 400, message: "bad" }],
    ["a failed response", { type: "response.failed", response: { error: { code: "server_error", message: "x" } } }, {}],
    [
      "too long",
      { type: "response.failed", response: { error: { code: "context_length_exceeded" } } },
      { status: 400 },
    ],
    ["no event of the dialect", { error: { message: "out of memory" } }, { message: "out of memory" }],
  ])("a failure in a stream is decoded, %s", (_, event, expected) => {
    const piece = new PassthroughResponsesStream(OWNERSHIP).read({ event: null, data: JSON.stringify(event) });
    expect(piece).toMatchObject({ is: "problem", problem: { status: null, ...expected } });
    expect(decodeStreamProblem(event).type).toBe(null);
  });

  test.each(["[DONE]", "{", "[]", '{"type":"a\\nb"}', '{"type":"response.completed"}'])("%s is malformed", (data) => {
    expect(new PassthroughResponsesStream(OWNERSHIP).read({ event: null, data })).toEqual({ is: "malformed" });
  });

  test("a keep-alive does not commit", () => {
    expect(new PassthroughResponsesStream(OWNERSHIP).read({ event: null, data: '{"type":"keepalive"}' }).is).toBe(
      "preamble",
    );
  });
});

describe("usage of the dialect", () => {
  test("input includes the cache, output the reasoning, unless the total says otherwise", () => {
    const wire = {
      input_tokens: 20,
      input_tokens_details: { cached_tokens: 5, cache_write_tokens: 4 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 9 },
      total_tokens: 36,
    };
    expect(decodeUsage(wire)).toMatchObject({ cachedTokens: 5, cacheWriteTokens: 4, outputTokens: 16 });
    expect(decodeUsage({ ...wire, total_tokens: 27 })).toBe(IMPLAUSIBLE_TOKENS);
    expect(decodeUsage({ output_tokens: 7 })).toBe(undefined);
    expect(decodeUsage({ ...wire, input_tokens: 8 })).toBe(IMPLAUSIBLE_TOKENS);
    const counted = decodeUsage(wire);
    if (counted === undefined) throw new Error("it was readable before");
    expect(JSON.parse(usageText(JSON.stringify(wire), counted, SHOWN))).toEqual({
      ...wire,
      output_tokens: 16,
      ...SHOWN,
    });
  });

  test("rejected usage is replaced by the billed one", () => {
    const text = usageText('{"input_tokens":1,"output_tokens":1,"x":1}', COUNTED, SHOWN);
    expect(JSON.parse(text)).toMatchObject({ input_tokens: 40, output_tokens: 12, total_tokens: 52, ...SHOWN });
    expect(JSON.parse(text)).not.toHaveProperty("x");
  });
});

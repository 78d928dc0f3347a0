import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Json } from "../../../../../tests/support/gateway.ts";
import { foldResponse, responseEvents } from "../../../../../tests/support/responses-fold.ts";
import { envelopeOf } from "../../../../contract/error-envelope.ts";
import { fault } from "../../../../contract/faults.ts";
import type { FinishReason, ReplyEvent } from "../../../canon/reply-events.ts";
import type { Usage } from "../../../canon/usage.ts";
import type { SignatureVisibility } from "../reasoning-signatures.ts";
import { responsesClient } from "./dialect.ts";
import { echoOf } from "./echo.ts";
import { decodeRequest } from "./request.ts";
import { inputItems } from "./turns.ts";

const HEAD = { id: "resp_0a1b", createdSeconds: 1_793_836_800, model: "m/x", inputTokens: 3 };
const USAGE: Usage = {
  inputTokens: 11,
  cachedTokens: 2,
  cacheWriteTokens: 1,
  outputTokens: 7,
  reasoningTokens: 3,
  audioInputTokens: 0,
  audioOutputTokens: 0,
};
const SHOWN = { cost: 0.25, currency: "EUR" };
const REQUEST = {
  model: "m/x",
  input: "Hello",
  tools: [
    { type: "function" as const, name: "weather" },
    { type: "custom" as const, name: "patch" },
  ],
};

type Told = { text: string; events: Json[]; response: Json; whole: Json; final: Json };

function tell(events: readonly ReplyEvent[], more: object = {}, seals: SignatureVisibility = "shown"): Told {
  const request = { ...REQUEST, ...more };
  const client = responsesClient(echoOf(request, { store: false, background: false }), seals);
  const call = decodeRequest(request, inputItems(request));
  const writer = client.openWriter(HEAD, call);
  let text = "";
  let finish: Extract<ReplyEvent, { is: "finish" }> | undefined;
  for (const event of events) {
    if (event.is === "finish") finish = event;
    else text += writer.write(event);
  }
  text += writer.close({ finish, usage: USAGE, cost: SHOWN });
  const told = responseEvents(text);
  const whole: Json = JSON.parse(client.render(events, HEAD, call, USAGE, SHOWN));
  return { text, events: told, response: foldResponse(told), whole, final: JSON.parse(writer.finalJson ?? "null") };
}

test("RESP-02 the initial events of an empty reply have no usage and are in progress", () => {
  const { events } = tell([
    { is: "begin", upstreamId: null },
    { is: "finish", reason: "stop" },
  ]);
  const [created] = events;
  expect(created).toMatchObject({ type: "response.created", response: { status: "in_progress" } });
  expect(created.response.usage ?? null).toBeNull();
  expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { usage: { cost: 0.25 } } });
});

const text = (said: string): ReplyEvent => ({ is: "text", text: said });
const think = (said: string): ReplyEvent => ({ is: "reasoning", text: said });
const call = (index: number, name = "weather"): ReplyEvent => ({
  is: "tool_call",
  index,
  id: `call_${index}`,
  name,
  signature: null,
});
const args = (index: number, said: string): ReplyEvent => ({ is: "tool_arguments", index, text: said });
const done = (reason: FinishReason): ReplyEvent => ({ is: "finish", reason });
const typesOf = ({ events }: Told) => events.map(({ type }) => type.replace(/^response\./, ""));

describe("the order of events", () => {
  test("RESP-02 a text has every added and done event, numbered from 0, with explicit zero indexes", () => {
    const told = tell([{ is: "begin", upstreamId: "u" }, text("Hel"), text("lo."), done("stop"), { is: "end" }]);
    expect(typesOf(told)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "content_part.added",
      "output_text.delta",
      "output_text.delta",
      "output_text.done",
      "content_part.done",
      "output_item.done",
      "completed",
    ]);
    const where = { item_id: "msg_0a1b0000", output_index: 0, content_index: 0 };
    expect(told.events[4]).toEqual({
      type: "response.output_text.delta",
      sequence_number: 4,
      ...where,
      delta: "Hel",
      logprobs: [],
    });
    expect(told.events[6]).toMatchObject({ ...where, text: "Hello.", logprobs: [] });
    expect(told.events[7]).toMatchObject({
      ...where,
      part: { type: "output_text", text: "Hello.", annotations: [], logprobs: [] },
    });
    expect(told.text).not.toContain("[DONE]");
    expect(told.text.startsWith("event: response.created\ndata: {")).toBe(true);
  });

  test("RESP-02 nothing is written before visible content, so the gateway can fail over", () => {
    const writer = responsesClient({}).openWriter(HEAD, decodeRequest(REQUEST, inputItems(REQUEST)));
    const quiet: ReplyEvent[] = [{ is: "begin", upstreamId: "u" }, { is: "usage", usage: USAGE }, text(""), think("")];
    for (const event of quiet) expect(writer.write(event), event.is).toBe("");
    expect(writer.finalJson).toBeUndefined();
    expect(responseEvents(writer.write(text("x"))).map(({ type }) => type)).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.delta",
    ]);
  });

  test("RESP-02 an empty reply is a completed response without items", () => {
    const told = tell([{ is: "begin", upstreamId: null }, done("stop"), { is: "end" }]);
    expect(typesOf(told)).toEqual(["created", "in_progress", "completed"]);
    expect(told.response.output).toEqual([]);
  });

  test("RESP-02 reasoning is a summary before its result, each in its own item", () => {
    const told = tell([think("I "), think("see."), text("Hello."), done("stop")]);
    expect(typesOf(told).slice(2, 9)).toEqual([
      "output_item.added",
      "reasoning_summary_part.added",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.delta",
      "reasoning_summary_text.done",
      "reasoning_summary_part.done",
      "output_item.done",
    ]);
    expect(told.events[4]).toMatchObject({ item_id: "rs_0a1b0000", output_index: 0, summary_index: 0, delta: "I " });
    expect(told.response.output[0]).toEqual({
      id: "rs_0a1b0000",
      type: "reasoning",
      summary: [{ type: "summary_text", text: "I see." }],
    });
    expect(told.response.output[1]).toMatchObject({ id: "msg_0a1b0001", type: "message" });
  });

  test("RESP-02 output_index counts all items, not calls", () => {
    const told = tell([think("t"), text("x"), call(0), args(0, "{}"), call(1), args(1, "{}"), done("tool_calls")]);
    const calls = told.events.filter(({ type }) => type === "response.function_call_arguments.done");
    expect(calls.map(({ output_index, item_id }) => [output_index, item_id])).toEqual([
      [2, "fc_0a1b0002"],
      [3, "fc_0a1b0003"],
    ]);
    expect(told.response.output[3]).toEqual({
      id: "fc_0a1b0003",
      type: "function_call",
      status: "completed",
      call_id: "call_1",
      name: "weather",
      arguments: "{}",
    });
  });

  test("RESP-02 interleaved calls do not overlap: the second is queued until the first is complete", () => {
    const told = tell([
      call(0),
      call(1),
      args(0, '{"a":'),
      args(1, '{"b"'),
      args(0, "1}"),
      args(1, ":2}"),
      done("tool_calls"),
    ]);
    expect(told.response.output.map((item: Json) => item.arguments)).toEqual(['{"a":1}', '{"b":2}']);
    const deltas = told.events.filter(({ type }) => type === "response.function_call_arguments.delta");
    expect(deltas.map(({ output_index, delta }) => [output_index, delta])).toEqual([
      [0, '{"a":'],
      [0, "1}"],
      [1, '{"b"'],
      [1, ":2}"],
    ]);
  });

  test("RESP-02 consecutive calls are streamed immediately", () => {
    const client = responsesClient({});
    const writer = client.openWriter(HEAD, decodeRequest(REQUEST, inputItems(REQUEST)));
    let said = "";
    for (const event of [call(0), args(0, '{"a":1}'), call(1), args(1, '{"b"')]) said += writer.write(event);
    expect(responseEvents(said).at(-1)).toMatchObject({ output_index: 1, delta: '{"b"' });
  });

  test("RESP-02 a call without arguments gets an empty object", () => {
    const told = tell([call(0), done("tool_calls")]);
    expect(told.response.output[0].arguments).toBe("{}");
    expect(told.events.find(({ type }) => type.endsWith("item.added"))?.item.arguments).toBe("");
  });

  test("RESP-02 no empty message precedes a call", () => {
    const told = tell([text(""), call(0), args(0, "{}"), done("tool_calls")]);
    expect(told.response.output.map((item: Json) => item.type)).toEqual(["function_call"]);
  });

  test("RESP-02 a refusal is its own part, and filtered content makes the response incomplete", () => {
    const refused = ["n", "o."].map((words): ReplyEvent => ({ is: "refusal", text: words }));
    const told = tell([text("So: "), ...refused, done("content_filter")]);
    expect(told.response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "content_filter" } });
    expect(told.response.output[0]).toMatchObject({
      status: "incomplete",
      content: [
        { type: "output_text", text: "So: " },
        { type: "refusal", refusal: "no." },
      ],
    });
    const refusals = told.events.filter(({ type }) => type.startsWith("response.refusal"));
    expect(refusals.map(({ content_index }) => content_index)).toEqual([1, 1, 1]);
  });

  test("RESP-02 citations are flat annotations of the text", () => {
    const citation = { url: "https://a.example/", title: "A", start: 0, end: 4 };
    const told = tell([text("said"), { is: "citation", citation, path: "annotations[]" }, done("stop")]);
    const annotation = { type: "url_citation", url: "https://a.example/", title: "A", start_index: 0, end_index: 4 };
    expect(told.response.output[0].content[0].annotations).toEqual([annotation]);
    expect(told.events.find(({ type }) => type.endsWith("annotation.added"))).toMatchObject({
      annotation_index: 0,
      content_index: 0,
      annotation,
    });
  });

  test("RESP-02 a truncated reply is incomplete, and so is its last item", () => {
    const told = tell([think("t"), text("Hel"), done("length")]);
    expect(told.events.at(-1).type).toBe("response.incomplete");
    expect(told.response).toMatchObject({ status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
    expect(told.response.output[1].status).toBe("incomplete");
  });

  test.each([
    ["under another name", '{"text":"x"}', "x"],
    ["as a text of its own", '"x"', "x"],
    ["beside something else", '{"a":"x","b":"y"}', '{"a":"x","b":"y"}'],
    ["as no text", '{"input":1}', '{"input":1}'],
  ])("RESP-02 free text that a model wrote %s", (_how, written, input) => {
    const told = tell([call(0, "patch"), args(0, written), done("tool_calls")]);
    expect(told.response.output[0]).toMatchObject({ type: "custom_tool_call", input });
  });

  test("RESP-02 free text of a custom tool is returned as text, not as JSON", () => {
    const told = tell([call(0, "patch"), args(0, '{"input":"*** Be'), args(0, 'gin\\n\\"x\\""}'), done("tool_calls")]);
    expect(told.response.output[0]).toEqual({
      id: "ctc_0a1b0000",
      type: "custom_tool_call",
      status: "completed",
      call_id: "call_0",
      name: "patch",
      input: '*** Begin\n"x"',
    });
    expect(typesOf(told)).toEqual([
      "created",
      "in_progress",
      "output_item.added",
      "custom_tool_call_input.delta",
      "custom_tool_call_input.done",
      "output_item.done",
      "completed",
    ]);
  });

  test("RESP-02 a caller without parallel calls gets one call, whatever the model does", () => {
    const events = [call(0), args(0, '{"a":1}'), call(1), args(1, '{"b":2}'), done("tool_calls")];
    const told = tell(events, { parallel_tool_calls: false });
    expect(told.response.output.map((item: Json) => item.call_id)).toEqual(["call_0"]);
    expect(told.whole.output).toEqual(told.response.output);
    expect(tell(events).response.output).toHaveLength(2);
  });
});

test("CHAT-10 idle streams get a comment", () => {
  expect(responsesClient({}).keepAlive).toBe(": keep-alive\n\n");
});

describe("the response object", () => {
  test("RESP-02 it repeats the request with the dialect's defaults and has the cost in its usage", () => {
    const { response, events } = tell([text("x"), done("stop")]);
    expect(response).toMatchObject({
      id: "resp_0a1b",
      object: "response",
      created_at: HEAD.createdSeconds,
      model: "m/x",
      error: null,
      incomplete_details: null,
      instructions: null,
      temperature: 1,
      top_p: 1,
      tool_choice: "auto",
      parallel_tool_calls: true,
      truncation: "disabled",
      text: { format: { type: "text" }, verbosity: "medium" },
      reasoning: { effort: null, summary: null },
      metadata: {},
      previous_response_id: null,
    });
    expect(response.usage).toEqual({
      input_tokens: 11,
      input_tokens_details: { cached_tokens: 2, cache_write_tokens: 1 },
      output_tokens: 7,
      output_tokens_details: { reasoning_tokens: 3 },
      total_tokens: 18,
      cost: 0.25,
      currency: "EUR",
    });
    expect(events[0].response).toEqual(events[1].response);
    expect(events[0].response.tools).toEqual(response.tools);
  });

  test("RESP-02 a failed stream ends with an error in both shapes, then with the failed response", () => {
    const client = responsesClient(echoOf(REQUEST, { store: true, background: false }));
    const writer = client.openWriter(HEAD, decodeRequest(REQUEST, inputItems(REQUEST)));
    const problem = fault("upstream_error", { message: "It broke." });
    const said = [call(0), args(0, "{}"), text("Hel")].map((event) => writer.write(event)).join("");
    const events = responseEvents(said + writer.fail(envelopeOf(problem, HEAD.id)));
    const error = { type: "upstream_error", code: "upstream_error", message: "It broke.", param: null };
    expect(events.at(-2)).toMatchObject({
      type: "error",
      sequence_number: events.length - 2,
      code: "upstream_error",
      message: "It broke.",
      param: null,
      error: { ...error, request_id: HEAD.id },
    });
    expect(events.at(-1)).toMatchObject({
      type: "response.failed",
      sequence_number: events.length - 1,
      response: {
        status: "failed",
        error: { code: "server_error", message: "It broke." },
        output: [
          { type: "function_call", status: "completed" },
          { type: "message", status: "incomplete" },
        ],
      },
    });
    expect(JSON.parse(writer.finalJson ?? "")).toEqual(events.at(-1).response);
  });

  test("RESP-05 encrypted content is shown on request and always stored", () => {
    const signature = { family: "anthropic" as const, data: "sig+/=" };
    const events: ReplyEvent[] = [
      think("t"),
      { is: "reasoning_detail", detail: { is: "readable", text: "t", signature } },
      text("x"),
      done("stop"),
    ];
    const hidden = tell(events, {}, "hidden");
    expect(hidden.text).not.toContain("sig+/=");
    expect(hidden.whole.output[0]).not.toHaveProperty("encrypted_content");
    expect(hidden.final.output[0].encrypted_content).toBe("gw1:anthropic:sig+/=");
    expect(tell(events).response.output[0].encrypted_content).toBe("gw1:anthropic:sig+/=");
  });

  test("RESP-02 the signature of a text does not split the text", () => {
    const signature = { family: "google" as const, data: "c2ln" };
    const told = tell([
      text("a"),
      { is: "reasoning_detail", detail: { is: "encrypted", signature } },
      text("b"),
      done("length"),
    ]);
    expect(told.response.output).toMatchObject([
      { type: "message", status: "incomplete", content: [{ text: "ab" }] },
      { type: "reasoning", summary: [], encrypted_content: "gw1:google.bare:c2ln" },
    ]);
  });
});

const family = fc.constantFrom("anthropic" as const, "google" as const, "openai" as const);
const signature = fc.record({ family, data: fc.string({ minLength: 1, maxLength: 8 }) });
const words = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 });

/** Blocks of an answer as a provider may send them, each already cut into events. */
const said = fc.oneof(
  fc.array(words, { minLength: 1, maxLength: 4 }).map((parts) => parts.map(text)),
  words.map((refused): ReplyEvent[] => [{ is: "refusal", text: refused }]),
  signature.map((sealed): ReplyEvent[] => [{ is: "reasoning_detail", detail: { is: "encrypted", signature: sealed } }]),
  words.map((title): ReplyEvent[] => [
    { is: "citation", citation: { url: "https://a.example/", title, start: null, end: null }, path: "annotations[]" },
  ]),
);
/** A provider closes every block of its reasoning, or none. */
const closedThoughts = fc
  .tuple(fc.oneof(words, fc.constant("")), signature)
  .map(([thought, sealed]): ReplyEvent[] => [
    think(thought),
    { is: "reasoning_detail", detail: { is: "readable", text: thought, signature: sealed } },
  ]);
const openThoughts = words.map((thought): ReplyEvent[] => [think(thought)]);
const blocks = (maxLength: number) =>
  fc.oneof(
    fc.array(fc.oneof(said, closedThoughts), { maxLength }),
    fc.array(fc.oneof(said, openThoughts), { maxLength }),
  );
const toolCall = fc.record({
  name: fc.constantFrom("weather", "patch", "other"),
  signature: fc.option(signature),
  argument: fc.option(words),
  cut: fc.nat({ max: 40 }),
});

/** Calls behind the rest, their arguments one after the other or in turns. */
const answer = fc
  .tuple(
    blocks(6),
    fc.array(toolCall, { maxLength: 3 }),
    fc.boolean(),
    fc.array(said, { maxLength: 2 }),
    fc.constantFrom<FinishReason>("stop", "length", "tool_calls", "content_filter"),
  )
  .map(([before, calls, inTurns, after, reason]): ReplyEvent[] => {
    const opened = calls.map(
      ({ name, signature }, index): ReplyEvent => ({ is: "tool_call", index, id: `call_${index}`, name, signature }),
    );
    const pieces = calls.map(({ argument, cut }, index) => {
      const whole = argument === null ? "" : JSON.stringify({ input: argument });
      return [args(index, whole.slice(0, cut)), args(index, whole.slice(cut))];
    });
    const told = inTurns
      ? [...opened, ...[0, 1].flatMap((half) => pieces.flatMap((cuts) => cuts[half] ?? []))]
      : opened.flatMap((open, index) => [open, ...(pieces[index] ?? [])]);
    return [...before.flat(), ...told, ...after.flat(), done(reason), { is: "end" }];
  });

describe("laws", () => {
  test("RESP-02 a strict client assembles the whole reply from the stream, and the stored one is the same", () => {
    fc.assert(
      fc.property(answer, fc.boolean(), (events, parallel_tool_calls) => {
        const told = tell(events, { parallel_tool_calls });
        expect(told.response).toEqual(told.whole);
        expect(told.final).toEqual(told.whole);
      }),
      { numRuns: 300 },
    );
  });

  test("RESP-02 how a text was split does not change the reply", () => {
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 6 }), (parts) => {
        const cut = tell([...parts.map(text), done("stop")]);
        const once = tell([text(parts.join("")), done("stop")]);
        expect(cut.response).toEqual(once.response);
      }),
      { numRuns: 50 },
    );
  });

  test("RESP-02 a returned reply decodes to the same parts, signatures included", () => {
    fc.assert(
      fc.property(answer, (events) => {
        const { response } = tell(events);
        const { turns } = decodeRequest({ model: "m", input: "next" }, [
          ...response.output,
          ...inputItems({ model: "m", input: "next" }),
        ]);
        const said = turns.filter(({ role }) => role === "assistant").flatMap(({ parts }) => parts);
        const details = events.flatMap((event) => (event.is === "reasoning_detail" ? [event.detail] : []));
        const sealed = said.flatMap((part) =>
          part.is === "reasoning" && part.detail.signature !== null ? [part.detail] : [],
        );
        expect(sealed).toEqual(details.filter((detail) => detail.signature !== null));
        const signed = events.flatMap((event) => (event.is === "tool_call" ? [event.signature] : []));
        const calls = said.flatMap((part) => (part.is === "tool_call" ? [part.signature ?? null] : []));
        expect(calls).toEqual(signed);
        const texts = said.flatMap((part) => (part.is === "text" ? [part.text] : []));
        expect(texts.join("")).toBe(events.flatMap((event) => (event.is === "text" ? [event.text] : [])).join(""));
      }),
      { numRuns: 200 },
    );
  });
});

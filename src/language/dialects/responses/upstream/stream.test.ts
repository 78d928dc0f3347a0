import { describe, expect, test } from "vitest";
import { CHAT_CALL, CHAT_FACTS } from "../../../../../tests/support/chat.ts";
import { responseJson } from "../../../../../tests/support/responses-native.ts";
import { callOf, itemEvents, thoughtOf, wordsOf } from "../../../../../tests/support/responses-script.ts";
import type { JsonObject } from "../../../../kit/json.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import { ResponseReader } from "./stream.ts";

const ENCRYPTED_BY_ACME = { call: CHAT_CALL, facts: { ...CHAT_FACTS, reasoningEncryptedBy: "acme" } };

/** What a reader says of these events; undefined stands for one that it could not read. */
function read(events: readonly JsonObject[]): (ReplyEvent | undefined)[] {
  const reader = new ResponseReader(ENCRYPTED_BY_ACME);
  return events.flatMap((event): (ReplyEvent | undefined)[] => [
    ...(reader.read({ event: null, data: JSON.stringify(event) }) ?? [undefined]),
  ]);
}

const end = (more: JsonObject = {}): JsonObject => ({
  type: "response.completed",
  response: responseJson({ output: [], ...more }),
});
const textOf = (events: readonly (ReplyEvent | undefined)[]) =>
  events.map((event) => (event?.is === "text" ? event.text : "")).join("");

describe("compatible servers that deviate", () => {
  test("unclosed items complete at the end, encrypted reasoning included", () => {
    const items = [thoughtOf("Hm.", "gEND"), wordsOf("Hello."), callOf("call_a", "f", '{"a":1}')];
    const open = items.flatMap((item, at) => itemEvents(item, at, 2).filter(({ type }) => !/item\.done$/.test(type)));
    const events = read([...open, end({ output: items })]);
    expect(textOf(events)).toBe("Hello.");
    expect(events).toContainEqual({
      is: "reasoning_detail",
      detail: { is: "readable", text: "Hm.", signature: { family: "openai", data: "acme:gEND" } },
    });
    expect(events.filter((event) => event?.is === "tool_arguments").length).toBeGreaterThan(1);
  });

  test("a call that is only in the final response is emitted at the end", () => {
    const items = [wordsOf("Hello."), callOf("call_a", "f", '{"a":1}'), callOf("call_b", "g", "{}")];
    for (const told of [[0], [0, 1], [0, 2]]) {
      const events = read([...told.flatMap((at) => itemEvents(items[at], at, 2)), end({ output: items })]);
      expect(textOf(events)).toBe("Hello.");
      const called = events.flatMap((event) => (event?.is === "tool_call" ? [event.id] : []));
      expect(called.toSorted()).toEqual(["call_a", "call_b"]);
      const indexes = events.flatMap((event) => (event?.is === "tool_call" ? [event.index] : []));
      expect(indexes).toEqual([0, 1]);
      expect(events.slice(-2)).toEqual([{ is: "finish", reason: "tool_calls" }, { is: "end" }]);
    }
  });

  test("items that share an index open separately, and none is emitted twice", () => {
    const items = [thoughtOf("Hm."), wordsOf("Hello."), callOf("call_a", "f", "{}")];
    const events = read([...items.flatMap((item) => itemEvents(item, 0, 2)), end({ output: items })]);
    expect(textOf(events)).toBe("Hello.");
    expect(events.filter((event) => event?.is === "tool_call")).toHaveLength(1);
  });

  test("event names instead of types, and empty lists at the end", () => {
    const reader = new ResponseReader();
    const data = JSON.stringify({ output_index: 0, content_index: 0, delta: "Hi" });
    expect(reader.read({ event: "response.output_text.delta", data })).toEqual([{ is: "text", text: "Hi" }]);
    const over = JSON.stringify({ response: responseJson({ output: [] }) });
    expect(reader.read({ event: "response.completed", data: over })?.at(-1)).toEqual({ is: "end" });
  });

  test("raw reasoning instead of a summary is emitted once", () => {
    const place = { output_index: 0, item_id: "rs" };
    const item = { type: "reasoning", id: "rs", summary: [], content: [{ type: "reasoning_text", text: "Hm." }] };
    const events = read([
      { type: "response.output_item.added", output_index: 0, item: { ...item, content: [] } },
      { type: "response.reasoning_text.delta", ...place, content_index: 0, delta: "Hm." },
      { type: "response.reasoning_summary_text.delta", ...place, summary_index: 0, delta: "short" },
      { type: "response.output_item.done", output_index: 0, item },
      end(),
    ]);
    expect(events.filter((event) => event?.is === "reasoning")).toEqual([{ is: "reasoning", text: "Hm." }]);
    expect(events).toContainEqual({ is: "reasoning_detail", detail: { is: "readable", text: "Hm.", signature: null } });
  });
});

test("citations have offsets in the whole text and are emitted once", () => {
  const source = { type: "url_citation", url: "https://a.example", title: "A", start_index: 1, end_index: 3 };
  const items = [wordsOf("Hello."), wordsOf("There.", { annotations: [source, { type: "file_citation" }] })];
  const events = read([...items.flatMap((item, at) => itemEvents(item, at, 2)), end({ output: items })]);
  const citation = { url: "https://a.example", title: "A", start: 7, end: 9 };
  expect(events.filter((event) => event?.is === "citation")).toMatchObject([{ is: "citation", citation }]);
});

describe("the end of a reply", () => {
  const problem = (event: JsonObject) => read([event])[0];

  test("failures, wherever their fields are", () => {
    const error = { code: "rate_limit_exceeded", message: "Slow down." };
    for (const event of [
      { type: "error", ...error },
      { type: "error", error },
      { type: "response.failed", response: responseJson({ status: "failed", error }) },
      { error },
    ])
      expect(problem(event)).toMatchObject({ is: "problem", problem: { ...error, status: 429 } });
    expect(problem({ type: "response.cancelled", response: responseJson() })).toMatchObject({ is: "problem" });
  });

  test("only a completed response ends a reply", () => {
    for (const response of [{}, null, responseJson({ status: "failed" }), responseJson({ status: "in_progress" })])
      expect(problem({ type: "response.completed", response })).toBeUndefined();
    expect(problem({ type: "response.completed", response: responseJson({ output: null }) })).toBeUndefined();
    expect(new ResponseReader().read({ event: null, data: "[DONE]" })).toBeUndefined();
    expect(new ResponseReader().read({ event: null, data: "{}" })).toBeUndefined();
  });

  test("why it is incomplete, also if only the response states it", () => {
    const cut = { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } };
    expect(read([end(cut)])).toContainEqual({ is: "finish", reason: "length" });
    const unknown = { type: "response.incomplete", response: responseJson({ status: null, output: [] }) };
    expect(read([unknown])).toContainEqual({ is: "finish", reason: "length" });
  });

  test("a call without a name is unreadable", () => {
    expect(read([{ type: "response.output_item.added", output_index: 0, item: { type: "function_call" } }])).toEqual([
      undefined,
    ]);
  });
});

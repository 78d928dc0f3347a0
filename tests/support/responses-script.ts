import type { JsonObject } from "../../src/kit/json.ts";
import { changedCatalogue } from "./changed-catalogue.ts";
import type { DialectScript, ModelOutput } from "./dialect-scripts.ts";
import type { Json } from "./gateway.ts";
import { frameOf, responseJson } from "./responses-native.ts";

/** Settings with which the provider below speaks only the responses dialect. */
export function responsesAlone(): Record<string, string> {
  const alone = (facts: Json) => {
    facts.dialects = [];
    facts.quirks = ["encrypted-reasoning"];
    for (const endpoint of facts.endpoints) delete endpoint.decisions_interface;
  };
  return { GATEWAY_CATALOGUE_DIR: changedCatalogue({ scaleway: alone }) };
}

const USAGE = { input_tokens: 11, output_tokens: 7, total_tokens: 18 };

/** An endpoint of the responses dialect, for callers of the other two. */
export const RESPONSES_COLUMN: DialectScript = {
  provider: "scaleway",
  model: "mistral/mistral-medium-2604",
  whole: (output) => ({ json: endOf(output, itemsOf(output)) }),
  streamed: (output) => ({ frames: framesOf(itemsOf(output), (items) => endOf(output, items)) }),
};

const SEAL = "gAAAA+/=";

function itemsOf({ thoughts, text, calls = [] }: ModelOutput): JsonObject[] {
  return [
    ...(thoughts === undefined ? [] : [thoughtOf(thoughts)]),
    ...(text === undefined ? [] : [wordsOf(text)]),
    ...calls.map(({ id, name, input }, at) => callOf(id, name, JSON.stringify(input), at)),
  ];
}

export function thoughtOf(text: string, encrypted = SEAL): JsonObject {
  const summary = text === "" ? [] : [{ type: "summary_text", text }];
  return { id: "rs_up1", type: "reasoning", summary, encrypted_content: encrypted };
}

export function wordsOf(text: string, more: JsonObject = {}): JsonObject {
  const content = [{ type: "output_text", text, annotations: [], logprobs: [], ...more }];
  return { id: "msg_up1", type: "message", status: "completed", role: "assistant", content };
}

export function callOf(callId: string, name: string, text: string, at = 0): JsonObject {
  return { id: `fc_up${at}`, type: "function_call", status: "completed", call_id: callId, name, arguments: text };
}

function endOf({ stop }: ModelOutput, output: readonly JsonObject[]): Json {
  const cut = stop === undefined ? {} : { status: "incomplete", incomplete_details: { reason: stop } };
  return responseJson({ output, usage: USAGE, ...cut });
}

/** The events of a reply with these items, every text in pieces of this many characters. */
export function framesOf(
  items: readonly JsonObject[],
  end: (output: readonly JsonObject[]) => Json = (output) => responseJson({ output }),
  pieceChars = 3,
): string[] {
  const begun = responseJson({ status: "in_progress", output: [], usage: null });
  const over = end(items);
  const events: Json[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
    ...items.flatMap((item, at) => itemEvents(item, at, pieceChars)),
    { type: `response.${over.status}`, response: over },
  ];
  return events.map((event, sequence_number) => frameOf({ ...event, sequence_number }));
}

export function itemEvents(item: Json, at: number, pieceChars: number): Json[] {
  const position = { item_id: item.id, output_index: at };
  const deltaEvents = (type: string, text: string, more: object) =>
    pieces(text, pieceChars).map((delta) => ({ type: `response.${type}.delta`, ...position, ...more, delta }));
  const inner: Readonly<Record<string, () => Json[]>> = {
    reasoning: () =>
      item.summary.flatMap(({ text }: Json, summary_index: number) => [
        {
          type: "response.reasoning_summary_part.added",
          ...position,
          summary_index,
          part: { type: "summary_text", text: "" },
        },
        ...deltaEvents("reasoning_summary_text", text, { summary_index }),
        { type: "response.reasoning_summary_text.done", ...position, summary_index, text },
        {
          type: "response.reasoning_summary_part.done",
          ...position,
          summary_index,
          part: { type: "summary_text", text },
        },
      ]),
    message: () =>
      item.content.flatMap((part: Json, content_index: number) => [
        { type: "response.content_part.added", ...position, content_index, part: { ...part, text: "" } },
        ...(part.type === "refusal"
          ? deltaEvents("refusal", part.refusal, { content_index })
          : deltaEvents("output_text", part.text, { content_index, logprobs: [] })),
        ...(part.annotations ?? []).map((annotation: Json, annotation_index: number) => ({
          type: "response.output_text.annotation.added",
          ...position,
          content_index,
          annotation_index,
          annotation,
        })),
        { type: "response.content_part.done", ...position, content_index, part },
      ]),
    function_call: () => [
      ...deltaEvents("function_call_arguments", item.arguments, {}),
      { type: "response.function_call_arguments.done", ...position, arguments: item.arguments },
    ],
  };
  return [
    { type: "response.output_item.added", output_index: at, item: begunItem(item) },
    ...(inner[item.type]?.() ?? []),
    { type: "response.output_item.done", output_index: at, item },
  ];
}

function begunItem(item: Json): Json {
  // The encrypted content at the begin of reasoning differs from that at its end.
  if (item.type === "reasoning") return { ...item, summary: [], encrypted_content: "gBEGUN" };
  return item.type === "message" ? { ...item, content: [] } : { ...item, arguments: "" };
}

function pieces(text: string, size: number): string[] {
  return Array.from({ length: Math.ceil(text.length / size) }, (_, at) => text.slice(at * size, (at + 1) * size));
}

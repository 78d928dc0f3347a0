import type { RewrittenText } from "../../domain/data-classes/rewriter.ts";
import { isJsonObject, type JsonObject } from "../../kit/json.ts";
import { movedAnnotation } from "./restore-value.ts";
import type { Delta } from "./stream-delta.ts";

const CHOICE_TEXTS = ["content", "refusal", "reasoning_content", "reasoning"] as const;

/** The pieces of text in one choice of a chat chunk. */
export function deltasOfChoice(choice: unknown, at: number, readsReasoning: boolean): Delta[] {
  if (!isJsonObject(choice) || !isJsonObject(choice["delta"])) return [];
  const { delta } = choice;
  const { audio } = delta;
  const group = String(choice["index"]);
  const inDelta = (event: JsonObject, change: (delta: JsonObject) => JsonObject): JsonObject => ({
    ...event,
    choices: (event["choices"] as readonly JsonObject[]).map((one, index) =>
      index === at ? { ...one, delta: change(one["delta"] as JsonObject) } : one,
    ),
  });
  const alone = (event: JsonObject, own: JsonObject): JsonObject => {
    const { usage: _usage, ...rest } = event;
    return { ...rest, choices: [{ index: choice["index"], delta: own, finish_reason: null }] };
  };
  const texts = CHOICE_TEXTS.flatMap((name): Delta[] => {
    const text = delta[name];
    if (typeof text !== "string" || text === "") return [];
    return [
      {
        key: `${group}/${name}`,
        group,
        form: undefined,
        text,
        with: (event, put) => inDelta(event, (own) => ({ ...own, [name]: put })),
        alone: (event, put) => alone(event, { [name]: put }),
      },
    ];
  });
  // What a voice says, as it is written beside the audio.
  const transcript = isJsonObject(audio) ? audio["transcript"] : undefined;
  const spoken: Delta[] =
    typeof transcript !== "string" || transcript === ""
      ? []
      : [
          {
            key: `${group}/audio`,
            group,
            form: undefined,
            text: transcript,
            with: (event, put) =>
              inDelta(event, (own) => ({ ...own, audio: { ...(own["audio"] as JsonObject), transcript: put } })),
            alone: (event, put) => alone(event, { audio: { transcript: put } }),
          },
        ];
  return [
    ...texts,
    ...spoken,
    ...deltasOfList(delta, { group, list: "tool_calls", inDelta, alone, pieceOf: pieceOfCall }),
    ...(readsReasoning
      ? deltasOfList(delta, { group, list: "reasoning_details", inDelta, alone, pieceOf: pieceOfReasoning })
      : []),
  ];
}

/** A piece of a text inside an item of a list. */
type ItemPiece = {
  readonly name: string;
  readonly form: "json" | undefined;
  readonly text: string;
  with(item: JsonObject, text: string): JsonObject;
};

type ListOptions = {
  readonly group: string;
  readonly list: "tool_calls" | "reasoning_details";
  readonly inDelta: (event: JsonObject, change: (delta: JsonObject) => JsonObject) => JsonObject;
  readonly alone: (event: JsonObject, own: JsonObject) => JsonObject;
  readonly pieceOf: (item: JsonObject) => ItemPiece | undefined;
};

function deltasOfList(delta: JsonObject, { group, list, inDelta, alone, pieceOf }: ListOptions): Delta[] {
  const items = Array.isArray(delta[list]) ? delta[list] : [];
  return items.flatMap((item: unknown, place): Delta[] => {
    const piece = isJsonObject(item) ? pieceOf(item) : undefined;
    if (!isJsonObject(item) || piece === undefined || piece.text === "") return [];
    const { index } = item;
    return [
      {
        key: `${group}/${list}/${String(index)}/${piece.name}`,
        group,
        form: piece.form,
        text: piece.text,
        with: (event, text) =>
          inDelta(event, (own) => ({
            ...own,
            [list]: (own[list] as readonly unknown[]).map((one, at) =>
              at === place && isJsonObject(one) ? piece.with(one, text) : one,
            ),
          })),
        alone: (event, text) => alone(event, { [list]: [piece.with({ index }, text)] }),
      },
    ];
  });
}

/** Arguments of a function, or the free input of a custom tool. */
function pieceOfCall({ function: called, custom }: JsonObject): ItemPiece | undefined {
  if (isJsonObject(called) && typeof called["arguments"] === "string") {
    const put = (item: JsonObject, text: string) => ({
      ...item,
      function: { ...(item["function"] as JsonObject | undefined), arguments: text },
    });
    return { name: "arguments", form: "json", text: called["arguments"], with: put };
  }
  if (!isJsonObject(custom) || typeof custom["input"] !== "string") return undefined;
  const put = (item: JsonObject, text: string) => ({
    ...item,
    custom: { ...(item["custom"] as JsonObject | undefined), input: text },
  });
  return { name: "input", form: undefined, text: custom["input"], with: put };
}

function pieceOfReasoning({ type, text, summary }: JsonObject): ItemPiece | undefined {
  const name = typeof text === "string" ? "text" : "summary";
  const own = name === "text" ? text : summary;
  if (typeof own !== "string") return undefined;
  return { name, form: undefined, text: own, with: (item, put) => ({ type, ...item, [name]: put }) };
}

/** Whether a choice of a chunk brings citations. */
export function isCiting(choice: unknown): boolean {
  return isJsonObject(choice) && isJsonObject(choice["delta"]) && Array.isArray(choice["delta"]["annotations"]);
}

export function withMovedCitations(choice: JsonObject, channel: RewrittenText): JsonObject {
  if (!isJsonObject(choice["delta"]) || !isCiting(choice)) return choice;
  const annotations = choice["delta"]["annotations"] as readonly unknown[];
  const moved = annotations.map((one) => movedAnnotation(one, channel));
  return { ...choice, delta: { ...choice["delta"], annotations: moved } };
}

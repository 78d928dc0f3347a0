import type { ResponseEvent, ResponseStore, ResponseSummary } from "../../domain/responses/response-store.ts";
import { type JsonObject, tryParseJsonObject } from "../../kit/json.ts";

/** Serializes an event that the gateway itself emits. */
export function eventOf(type: string, sequence: number, fields: JsonObject): ResponseEvent {
  return serializedEvent(type, sequence, JSON.stringify({ sequence_number: sequence, ...fields }));
}

/** The same with its fields as JSON. */
export function serializedEvent(type: string, sequence: number, json: string): ResponseEvent {
  return { sequence, text: `event: ${type}\ndata: {"type":"${type}",${json.slice(1)}\n\n` };
}

/** Yields stored events after a sequence number, one page at a time. */
export async function* eventsAfter(
  store: ResponseStore,
  { workspaceId, id }: Pick<ResponseSummary, "workspaceId" | "id">,
  after: number,
): AsyncGenerator<readonly ResponseEvent[]> {
  let lastSequence = after;
  for (;;) {
    const events = await store.events(workspaceId, id, lastSequence);
    const last = events.at(-1);
    if (last === undefined) return;
    yield events;
    lastSequence = last.sequence;
  }
}

/** Events before any output. */
const BEFORE_OUTPUT = /^event: response\.(created|queued|in_progress)\n/;

const ITEM_DONE = "response.output_item.done";
const DATA_OF_ITEM_DONE = new RegExp(`^event: ${ITEM_DONE}\ndata: `);

/** Builds `output_item.done` events for the items without a stored one. */
export function missingDoneEvents(
  output: readonly JsonObject[],
  { count, doneIndexes }: StoredEvents,
): ResponseEvent[] {
  const missing = [...output.entries()].filter(([at]) => !doneIndexes.has(at));
  return missing.map(([at, item], offset) => eventOf(ITEM_DONE, count + offset, { output_index: at, item }));
}

type StoredEvents = {
  readonly count: number;
  readonly hasOutput: boolean;
  /** Output indexes with a stored `output_item.done` event. */
  readonly doneIndexes: ReadonlySet<unknown>;
};

/** Summarizes the stored events of a response; their sequence numbers have no gaps. */
export async function eventsOf(
  store: ResponseStore,
  response: Pick<ResponseSummary, "workspaceId" | "id">,
): Promise<StoredEvents> {
  let [count, hasOutput] = [0, false];
  const doneIndexes = new Set<unknown>();
  for await (const piece of eventsAfter(store, response, -1)) {
    count = (piece.at(-1)?.sequence ?? -1) + 1;
    hasOutput ||= piece.some(({ text }) => !BEFORE_OUTPUT.test(text));
    for (const { text } of piece)
      if (DATA_OF_ITEM_DONE.test(text))
        doneIndexes.add(tryParseJsonObject(text.replace(DATA_OF_ITEM_DONE, ""))?.["output_index"]);
  }
  return { count, hasOutput, doneIndexes };
}

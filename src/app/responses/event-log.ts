import type { ResponseEvent, ResponseStore, ResponseSummary } from "../../domain/responses/stored.ts";
import type { JsonObject } from "../../kit/json.ts";

/** An event of the gateway's own. */
export function eventOf(type: string, sequence: number, fields: JsonObject): ResponseEvent {
  const data = JSON.stringify({ type, sequence_number: sequence, ...fields });
  return { sequence, text: `event: ${type}\ndata: ${data}\n\n` };
}

/** The stored events of a response after one sequence number, a piece at a time: all of them may be many. */
export async function* eventsAfter(
  store: ResponseStore,
  { workspaceId, id }: Pick<ResponseSummary, "workspaceId" | "id">,
  after: number,
): AsyncGenerator<readonly ResponseEvent[]> {
  let reached = after;
  for (;;) {
    const events = await store.events(workspaceId, id, reached);
    const last = events.at(-1);
    if (last === undefined) return;
    yield events;
    reached = last.sequence;
  }
}

/** Events that say nothing of the answer yet. */
const BEFORE_THE_ANSWER = /^event: response\.(created|queued|in_progress)\n/;

/** What is stored of the events of a response: how many, whose numbers have no gap, and whether an answer is in them. */
export async function eventsOf(
  store: ResponseStore,
  response: Pick<ResponseSummary, "workspaceId" | "id">,
): Promise<{ readonly count: number; readonly hasAnswer: boolean }> {
  let [count, hasAnswer] = [0, false];
  for await (const piece of eventsAfter(store, response, -1)) {
    count = (piece.at(-1)?.sequence ?? -1) + 1;
    hasAnswer ||= piece.some(({ text }) => !BEFORE_THE_ANSWER.test(text));
  }
  return { count, hasAnswer };
}

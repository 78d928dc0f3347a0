import type { ResponseEvent, ResponseStore, ResponseSummary } from "../../domain/responses/stored.ts";

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

/** How many events of a response are stored: their numbers have no gap. */
export async function countEvents(
  store: ResponseStore,
  response: Pick<ResponseSummary, "workspaceId" | "id">,
): Promise<number> {
  let count = 0;
  for await (const piece of eventsAfter(store, response, -1)) count = (piece.at(-1)?.sequence ?? -1) + 1;
  return count;
}

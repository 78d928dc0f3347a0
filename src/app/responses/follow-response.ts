import { setTimeout as sleep } from "node:timers/promises";
import { isUnfinished, type ResponseEvent, type StoredResponse } from "../../domain/responses/response-store.ts";
import type { ResponseSink } from "../exchange.ts";
import type { BackgroundJob } from "./background-job.ts";
import { eventsAfter } from "./response-events.ts";
import type { ResponsesDeps } from "./responses-deps.ts";

/** Poll interval for events stored by another instance. */
const POLL_EVERY_MS = 250;

const KEEP_ALIVE = ": keep-alive\n\n";

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-store" };

type FollowDeps = Pick<ResponsesDeps, "store" | "keepAliveMs">;

/** Streams a local job's events after a sequence number until the job ends; a disconnect does not stop the job. */
export async function followJob(
  { store, keepAliveMs }: FollowDeps,
  job: BackgroundJob,
  sink: ResponseSink,
  after: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const { workspaceId, id } = job.stored;
  sink.start(200, { ...headers, ...EVENT_STREAM });
  let next = after + 1;
  while (!sink.disconnected) {
    const event = job.eventAt(next);
    if (event === "stored") {
      const sent = await sendPage(await store.events(workspaceId, id, next - 1), sink);
      // The response was deleted or may no longer be stored: abort instead of skipping events.
      if (sent === undefined) return sink.abort();
      next = sent + 1;
    } else if (event !== undefined) {
      next += 1;
      if (!sink.write(event.text)) await sink.drained();
    } else if (job.phase !== "running") {
      sink.end();
      return;
    } else if ((await job.waitForEvents(keepAliveMs)) === "silence") sink.write(KEEP_ALIVE);
  }
}

/** Streams a job that runs on another instance by polling its stored events. */
export async function followStored(
  { store, keepAliveMs, clock }: FollowDeps & Pick<ResponsesDeps, "clock">,
  { workspaceId, id }: Pick<StoredResponse, "workspaceId" | "id">,
  sink: ResponseSink,
  after: number,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  sink.start(200, { ...headers, ...EVENT_STREAM });
  let lastSequence = after;
  let lastSentMs = clock.monotonicMs();
  while (!sink.disconnected) {
    // The status is read before the events, so that a finished response has no later events.
    const stored = await store.find(workspaceId, id, clock.nowMs());
    if (stored === undefined) return sink.abort();
    for await (const events of eventsAfter(store, { workspaceId, id }, lastSequence)) {
      lastSequence = (await sendPage(events, sink)) ?? lastSequence;
      lastSentMs = clock.monotonicMs();
    }
    if (!isUnfinished(stored)) return sink.end();
    if (clock.monotonicMs() - lastSentMs >= keepAliveMs) {
      sink.write(KEEP_ALIVE);
      lastSentMs = clock.monotonicMs();
    }
    await sleep(POLL_EVERY_MS);
  }
}

/** Returns the sequence number of the last event. */
async function sendPage(events: readonly ResponseEvent[], sink: ResponseSink): Promise<number | undefined> {
  for (const { text } of events) {
    if (sink.disconnected) break;
    if (!sink.write(text)) await sink.drained();
  }
  return events.at(-1)?.sequence;
}

/** Streams the events of a finished response. */
export async function sendEvents(
  pieces: AsyncIterable<readonly ResponseEvent[]>,
  sink: ResponseSink,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const start = () => {
    if (!sink.started) sink.start(200, { ...headers, ...EVENT_STREAM });
  };
  for await (const events of pieces) {
    start();
    await sendPage(events, sink);
    if (sink.disconnected) return;
  }
  start();
  sink.end();
}

import type { ResponseEvent } from "../../domain/responses/stored.ts";
import type { Sink } from "../exchange.ts";
import type { Job } from "./job.ts";

const SIGN_OF_LIFE = ": keep-alive\n\n";

const EVENT_STREAM = { "content-type": "text/event-stream; charset=utf-8", "cache-control": "no-cache" };

/** Sends the events after one sequence number, and goes on as they come, to the end. Who leaves stops nothing. */
export async function followJob(
  job: Job,
  sink: Sink,
  after: number,
  headers: Readonly<Record<string, string>>,
  keepAliveMs: number,
): Promise<void> {
  sink.start(200, { ...headers, ...EVENT_STREAM });
  let at = job.events.findIndex(({ sequence }) => sequence > after);
  if (at < 0) at = job.events.length;
  while (!sink.gone) {
    const event = job.events[at];
    if (event !== undefined) {
      at += 1;
      if (event.sequence > after && !sink.write(event.text)) await sink.drained();
    } else if (job.phase !== "running") {
      sink.end();
      return;
    } else if ((await job.news(keepAliveMs)) === "silence") sink.write(SIGN_OF_LIFE);
  }
}

/** Sends events that are all there. */
export async function sendEvents(
  pieces: AsyncIterable<readonly ResponseEvent[]>,
  sink: Sink,
  headers: Readonly<Record<string, string>>,
): Promise<void> {
  const start = () => {
    if (!sink.started) sink.start(200, { ...headers, ...EVENT_STREAM });
  };
  for await (const events of pieces) {
    start();
    for (const { text } of events) {
      if (sink.gone) return;
      if (!sink.write(text)) await sink.drained();
    }
  }
  start();
  sink.end();
}

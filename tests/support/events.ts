import { SseReader } from "../../src/kit/sse.ts";
import type { ReplyEvent } from "../../src/language/canon/reply-events.ts";
import type { ReplyEventReader } from "../../src/language/dialects/upstream-dialect.ts";

/**
 * Events in a normal form: adjacent pieces of one text are joined, and only the last usage is kept, right before the
 * end. What was omitted follows, sorted. Two equivalent replies are equal in this form.
 */
export function folded(events: readonly ReplyEvent[]): ReplyEvent[] {
  const list: ReplyEvent[] = [];
  const omitted = new Map<string, ReplyEvent>();
  let figures: ReplyEvent | undefined;
  for (const event of events) {
    if (event.is === "usage") {
      figures = event;
      continue;
    }
    if (event.is === "omitted") {
      omitted.set(event.path, event);
      continue;
    }
    const last = list.at(-1);
    const joined = last === undefined ? undefined : join(last, event);
    if (joined === undefined) list.push(event);
    else list[list.length - 1] = joined;
  }
  const reports = [...omitted].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, event]) => event);
  if (figures === undefined) return [...list, ...reports];
  const end = list.findIndex(({ is }) => is === "finish" || is === "end" || is === "problem");
  list.splice(end < 0 ? list.length : end, 0, figures);
  return [...list, ...reports];
}

/** Without the paths of what is omitted. */
export function carried<Event extends ReplyEvent | undefined>(events: readonly Event[]): Event[] {
  return events.filter((event) => event?.is !== "omitted");
}

function join(last: ReplyEvent, next: ReplyEvent): ReplyEvent | undefined {
  if (last.is === "text" && next.is === "text") return { is: "text", text: last.text + next.text };
  if (last.is === "refusal" && next.is === "refusal") return { is: "refusal", text: last.text + next.text };
  if (last.is === "reasoning" && next.is === "reasoning") return { is: "reasoning", text: last.text + next.text };
  if (last.is === "tool_arguments" && next.is === "tool_arguments" && last.index === next.index)
    return { ...last, text: last.text + next.text };
  return undefined;
}

/** All events of a stream of server-sent events that arrives in these pieces; fails where it cannot be read. */
export function eventsIn(chunks: Iterable<Buffer>, reader: ReplyEventReader): ReplyEvent[] {
  const frames = new SseReader(1 << 24);
  const events: ReplyEvent[] = [];
  const take = (list: ReturnType<SseReader["push"]>) => {
    for (const frame of list) {
      const read = reader.read(frame);
      if (read === undefined) throw new Error(`not a frame of the dialect: ${frame.data.slice(0, 200)}`);
      events.push(...read);
    }
  };
  for (const chunk of chunks) take(frames.push(chunk));
  take(frames.end());
  return events;
}

/** The same bytes cut into pieces of one size. */
export function* cutInto(bytes: Buffer, size: number): Iterable<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
}

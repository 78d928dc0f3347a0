import { frameValue } from "../../../../kit/json-document.ts";
import type { ReplyEvent } from "../../../canon/reply-events.ts";
import type { ReplyContext, ReplyEventReader, StreamFrame } from "../../upstream-dialect.ts";
import { BlockDelta, BlockStart, BlockStop, MessageStop, Metadata } from "../wire.ts";
import { decodeException } from "./errors.ts";
import { DAMAGED_FRAME, EXCEPTION_PREFIX } from "./frames.ts";
import { EVENTS } from "./members.ts";
import { ReplyAssembler } from "./reply-assembler.ts";

/** Usage follows the stop reason, so the stop reason is not the end of the stream. */
export class ConverseReader implements ReplyEventReader {
  readonly #assembler: ReplyAssembler;

  constructor(context?: ReplyContext) {
    this.#assembler = new ReplyAssembler(context);
  }

  read(frame: StreamFrame): readonly ReplyEvent[] | undefined {
    const { event, data } = frame;
    if (event === null || event === DAMAGED_FRAME) return undefined;
    if (event.startsWith(EXCEPTION_PREFIX))
      return [{ is: "problem", problem: decodeException(event.slice(EXCEPTION_PREFIX.length), data) }];
    const payload = frameValue(frame);
    if (payload === undefined) return undefined;
    const rule = Object.hasOwn(EVENTS, event) ? EVENTS[event] : undefined;
    if (rule === undefined) this.#assembler.omissions.add(event);
    else this.#assembler.omissions.check(payload, rule);
    const events = this.#readEvent(event, payload);
    return events === undefined ? undefined : [...this.#assembler.omissions.events(), ...events];
  }

  #readEvent(event: string, payload: unknown): readonly ReplyEvent[] | undefined {
    switch (event) {
      case "messageStart":
        return [{ is: "begin", upstreamId: null }];
      case "contentBlockStart":
        return this.#start(payload);
      case "contentBlockDelta":
        return this.#delta(payload);
      case "contentBlockStop": {
        const stop = BlockStop.safeParse(payload);
        return stop.success ? this.#assembler.close(stop.data.contentBlockIndex) : undefined;
      }
      case "messageStop": {
        const stop = MessageStop.safeParse(payload);
        return stop.success ? this.#assembler.stop(stop.data.stopReason) : undefined;
      }
      case "metadata": {
        const metadata = Metadata.safeParse(payload);
        return metadata.success ? this.#assembler.end(metadata.data.usage) : undefined;
      }
      // Events of later API versions are ignored.
      default:
        return [];
    }
  }

  #start(payload: unknown): readonly ReplyEvent[] | undefined {
    const parsed = BlockStart.safeParse(payload);
    if (!parsed.success) return undefined;
    const { contentBlockIndex, start } = parsed.data;
    if (start?.toolUse == null) return [];
    return this.#assembler.openTool(contentBlockIndex, start.toolUse.toolUseId, start.toolUse.name);
  }

  #delta(payload: unknown): readonly ReplyEvent[] | undefined {
    const parsed = BlockDelta.safeParse(payload);
    return parsed.success ? this.#assembler.add(parsed.data.contentBlockIndex, parsed.data.delta) : undefined;
  }
}

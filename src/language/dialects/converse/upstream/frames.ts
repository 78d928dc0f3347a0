import { type EventStreamItem, EventStreamReader } from "../../../../kit/aws-event-stream.ts";
import { OversizedEventError } from "../../../../kit/sse.ts";
import type { StreamFrame } from "../../upstream-dialect.ts";

/** Event names of frames that are not model events. */
export const EXCEPTION_PREFIX = "exception:";
export const DAMAGED_FRAME = "damaged";

/** Converts messages of the binary event stream to frames; an exception or a damaged message is the last frame. Throws above its limit. */
export class ConverseFrames {
  readonly #reader: EventStreamReader;
  #oversized: OversizedEventError | undefined;

  constructor(frameMaxBytes: number) {
    this.#reader = new EventStreamReader(frameMaxBytes);
  }

  get pendingChars(): number {
    return this.#reader.pendingBytes;
  }

  /** The pending message is bytes. */
  get charBytes(): 1 {
    return 1;
  }

  push(chunk: Buffer): StreamFrame[] {
    return this.#framesOf(this.#reader.push(chunk));
  }

  end(): StreamFrame[] {
    return this.#framesOf(this.#reader.end());
  }

  /** The messages before one that is too long are read first. */
  #framesOf(items: readonly EventStreamItem[]): StreamFrame[] {
    if (this.#oversized !== undefined) throw this.#oversized;
    const frames: StreamFrame[] = [];
    for (const item of items)
      if (item.is === "oversized") this.#oversized = new OversizedEventError(item.maxBytes, "bytes");
      else frames.push(frameOf(item));
    if (this.#oversized !== undefined && frames.length === 0) throw this.#oversized;
    return frames;
  }
}

function frameOf(piece: Exclude<EventStreamItem, { is: "oversized" }>): StreamFrame {
  if (piece.is === "corrupt") return { event: DAMAGED_FRAME, data: piece.why };
  const { headers, payload } = piece;
  switch (headers.get(":message-type")) {
    case "event":
      return { event: headers.get(":event-type") ?? null, data: payload.toString("utf8") };
    case "exception":
      return { event: EXCEPTION_PREFIX + (headers.get(":exception-type") ?? ""), data: payload.toString("utf8") };
    // Unmodeled errors have headers only.
    case "error": {
      const message = headers.get(":error-message") ?? "";
      return { event: EXCEPTION_PREFIX + (headers.get(":error-code") ?? ""), data: JSON.stringify({ message }) };
    }
    default:
      return { event: DAMAGED_FRAME, data: "a message has no type" };
  }
}

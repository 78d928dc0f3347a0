import type { JsonProblem, ParsedBody } from "../../kit/json.ts";
import { isLongText, type JsonInTurns } from "../../kit/json-in-turns.ts";
import { type SseFrame, SseReader } from "../../kit/sse.ts";
import { pieceEnd } from "../../kit/work-steps.ts";

/** The gateway itself writes whole events, so this limit is never reached in practice. */
const FRAME_CHARS_MAX = 256 * 1024 * 1024;
const PIECE_CHARS = 64 * 1024;

/** `body`: its data, if the event is long. */
export type OutboundEvent = SseFrame & { readonly body?: ParsedBody | JsonProblem };

type Take = (events: readonly OutboundEvent[]) => void;

/** Reads the events that the gateway wrote, in their order: short ones at once, long ones in event-loop turns. */
export class OutboundEventReader {
  readonly #frames = new SseReader(FRAME_CHARS_MAX);
  readonly #json: JsonInTurns;
  readonly #workspaceId: string;
  readonly #waiting: { readonly chunk: Buffer | string; readonly take: Take }[] = [];
  #reading: Promise<void> | undefined;

  constructor(json: JsonInTurns, workspaceId: string) {
    this.#json = json;
    this.#workspaceId = workspaceId;
  }

  /** Resolves once everything that was pushed is read; undefined: it is. */
  get reading(): Promise<void> | undefined {
    return this.#reading;
  }

  /** `take` receives the events of the chunk, after those of earlier ones. */
  push(chunk: Buffer | string, take: Take): void {
    if (this.#reading === undefined && chunk.length <= PIECE_CHARS) {
      take(this.#frames.push(Buffer.from(chunk)));
      return;
    }
    this.#waiting.push({ chunk, take });
    this.#reading ??= this.#readAll();
  }

  async #readAll(): Promise<void> {
    for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
      const frames = await this.#readPieces(next.chunk);
      const events: OutboundEvent[] = [];
      for (const frame of frames) {
        const isLong = isLongText(frame.data);
        events.push(isLong ? { ...frame, body: await this.#json.body(frame.data, this.#workspaceId) } : frame);
      }
      next.take(events);
    }
    this.#reading = undefined;
  }

  async #readPieces(chunk: Buffer | string): Promise<SseFrame[]> {
    const work = this.#json.turns.begin(this.#workspaceId);
    const frames: SseFrame[] = [];
    for (let at = 0; at < chunk.length; ) {
      const end = typeof chunk === "string" ? pieceEnd(chunk, at, PIECE_CHARS) : at + PIECE_CHARS;
      if (!work.fits(end - at, 0)) await work.next();
      frames.push(...this.#frames.push(Buffer.from(chunk.slice(at, end))));
      work.add(end - at, 0);
      at = end;
    }
    work.end();
    return frames;
  }
}

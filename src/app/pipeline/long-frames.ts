import { type DocumentForm, type ResponseRejection, readDocumentInSlices } from "../../io/upstream/large-response.ts";
import { LARGE_RESPONSE_BYTES, type ResponseGuard } from "../../io/upstream/response-guard.ts";
import type { MemoryLease, MemoryShortage } from "../../io/upstream/response-memory.ts";
import type { FrameReader } from "../../io/upstream/upstream-adapter.ts";
import type { SlicedWork } from "../../kit/event-loop-turns.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { StreamFrame } from "../../language/dialects/upstream-dialect.ts";

export const isShort = (chars: number) => chars <= LARGE_RESPONSE_BYTES;
export const isShortFrame = ({ data }: StreamFrame) => isShort(data.length);

/** Short events need no memory of the budget. */
const longBytes = (chars: number, charBytes: number) => (isShort(chars) ? 0 : chars * charBytes);

/** What a frame reader holds. */
type TextInMemory = Pick<FrameReader, "pendingChars" | "charBytes">;

export type LongFramesDeps = {
  readonly guard: ResponseGuard;
  readonly workspaceId: string;
  readonly form: DocumentForm;
  /** `pause`: the client does not keep up. */
  readonly read: (frame: StreamFrame, work: SlicedWork) => MaybePromise<"more" | "pause">;
  /** Resolves once the client has taken what was sent to it. */
  readonly whenDrained: () => Promise<void>;
  /** All frames were read: the upstream may send more. */
  readonly onRead: () => void;
  readonly onRejected: (rejection: ResponseRejection) => void;
  readonly onError: (error: unknown) => void;
};

/** Frames of a stream with long events: these are built in slices of event-loop turns, and all are read in order. */
export class LongFrames {
  readonly #deps: LongFramesDeps;
  readonly #work: SlicedWork;
  readonly #waiting: { readonly frame: StreamFrame; readonly bytes: number }[] = [];
  /** Holds the long events until they are read, and the one that is still incomplete. */
  readonly #lease: MemoryLease;
  /** Holds a long event that was built, until the client has taken it. */
  #built: MemoryLease | undefined;
  #waitingBytes = 0;
  #pendingBytes = 0;
  #heldBytes = 0;
  #reading: Promise<void> | undefined;
  #isStopped = false;

  constructor(deps: LongFramesDeps) {
    this.#deps = deps;
    this.#work = deps.guard.turns.begin(deps.workspaceId);
    this.#lease = deps.guard.memory.open(deps.workspaceId);
  }

  /** The upstream pauses until the frames are read and the client has taken them. */
  push(frames: readonly StreamFrame[], { pendingChars, charBytes }: TextInMemory): "more" | "pause" {
    const waiting = frames.map((frame) => ({ frame, bytes: longBytes(frame.data.length, charBytes) }));
    for (const { bytes } of waiting) this.#waitingBytes += bytes;
    this.#pendingBytes = longBytes(pendingChars, charBytes);
    const full = this.#hold();
    if (full !== undefined) {
      this.#deps.onRejected({ is: "memory", ...full });
      return "more";
    }
    if (frames.length === 0 && this.#reading === undefined) return "more";
    this.#waiting.push(...waiting);
    this.#reading ??= this.#readAll();
    return "pause";
  }

  whenRead(then: () => void): void {
    if (this.#reading === undefined) then();
    else this.#reading.then(then, this.#deps.onError);
  }

  stop(): void {
    this.#isStopped = true;
    this.#waiting.length = 0;
    this.#lease.release();
  }

  #hold(): MemoryShortage | undefined {
    const more = this.#waitingBytes + this.#pendingBytes - this.#heldBytes;
    if (more < 0) this.#lease.shrink(-more);
    const full = more > 0 ? this.#lease.grow(more) : undefined;
    if (full === undefined) this.#heldBytes += more;
    return full;
  }

  async #readAll(): Promise<void> {
    try {
      // Not before `push` has returned: the upstream is paused first, then resumed.
      await this.#work.next();
      for (let next = this.#waiting.shift(); next !== undefined; next = this.#waiting.shift()) {
        const { frame, bytes } = next;
        const ready = isShortFrame(frame) ? await this.#takeTurn(frame) : await this.#build(frame, bytes);
        if (ready === undefined || this.#isStopped) return;
        if ((await this.#deps.read(ready, this.#work)) === "pause") {
          this.#work.end();
          await this.#deps.whenDrained();
        }
        this.#built?.release();
      }
    } catch (error) {
      this.#deps.onError(error);
    } finally {
      this.#built?.release();
      this.#work.end();
      this.#reading = undefined;
    }
    if (!this.#isStopped) this.#deps.onRead();
  }

  async #takeTurn(frame: StreamFrame): Promise<StreamFrame> {
    const { length } = frame.data;
    if (!this.#work.fits(length, length / 2)) await this.#work.next();
    this.#work.add(length, length / 2);
    return frame;
  }

  async #build(frame: StreamFrame, bytes: number): Promise<StreamFrame | undefined> {
    const { guard, workspaceId, form, onRejected } = this.#deps;
    this.#work.end();
    // From here the event is held by a lease of its own, with its members.
    this.#waitingBytes -= bytes;
    this.#hold();
    const lease = guard.memory.open(workspaceId);
    this.#built = lease;
    // In JSON a line break occurs only between tokens, so a space can replace it.
    const data = frame.data.includes("\n") ? frame.data.replaceAll("\n", " ") : frame.data;
    const document = await readDocumentInSlices(data, { guard, workspaceId, lease, form });
    if (!("is" in document)) return { event: frame.event, data, document };
    if (!this.#isStopped) onRejected(document);
    return undefined;
  }
}

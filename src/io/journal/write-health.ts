import type { Log } from "../../kit/log.ts";
import { FILLER } from "./segment-decoder.ts";
import { FrameBuffer } from "./segment-frames.ts";

/**
 * Whether the disk takes writes. Paid work is refused after a failure, so no request would find out that it works again: the
 * journal probes by itself.
 */
export class WriteHealth {
  readonly #settings: { readonly log: Log; readonly probeEveryMs: number };
  readonly #probe: (bytes: Buffer) => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #isProbing = false;
  #isClosed = false;
  isFailed = false;

  constructor(settings: { readonly log: Log; readonly probeEveryMs: number }, probe: (bytes: Buffer) => Promise<void>) {
    this.#settings = settings;
    this.#probe = probe;
  }

  markFailed(error: unknown): void {
    if (!this.isFailed) this.#settings.log.error({ err: error }, "journal: write failed, paid work is refused");
    this.isFailed = true;
    if (this.#isClosed) return;
    this.#timer ??= setInterval(() => void this.#probeDisk(), this.#settings.probeEveryMs).unref();
  }

  close(): void {
    this.#isClosed = true;
    clearInterval(this.#timer);
  }

  async #probeDisk(): Promise<void> {
    if (this.#isProbing) return;
    this.#isProbing = true;
    try {
      const filler = new FrameBuffer();
      filler.add(FILLER);
      await this.#probe(filler.view());
      this.isFailed = false;
      clearInterval(this.#timer);
      this.#timer = undefined;
      this.#settings.log.info({}, "journal: writable again");
    } catch {
      // The next probe follows.
    } finally {
      this.#isProbing = false;
    }
  }
}

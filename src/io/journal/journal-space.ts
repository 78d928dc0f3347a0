import type { Log } from "../../kit/log.ts";
import type { SegmentIndex } from "./segment-index.ts";

/** Shares of the journal's limit. */
const WARN_SHARE = 0.25;
const BEHIND_SHARE = 0.5;
const CAUGHT_UP_SHARE = 0.4;

/** Always checked: the backlog is larger than a share that was reported. */
const ALWAYS = -1;

/**
 * Warns early when ingest falls behind, and refuses paid work while there is still space for the requests that are running.
 * Only the backlog counts: files that open requests alone keep say nothing about ingest.
 */
export class JournalSpace {
  readonly #maxBytes: number;
  readonly #log: Log;
  #hasWarned = false;
  /** `check` has nothing to do up to a backlog of this many bytes. */
  quietBytes: number;
  isBehind = false;

  constructor({ maxBytes, log }: { readonly maxBytes: number; readonly log: Log }) {
    this.#maxBytes = maxBytes;
    this.#log = log;
    this.quietBytes = WARN_SHARE * maxBytes;
  }

  check({ backlogBytes: bytes, pendingRecords: records }: Pick<SegmentIndex, "backlogBytes" | "pendingRecords">): void {
    const isWarned = bytes > WARN_SHARE * this.#maxBytes;
    if (isWarned && !this.#hasWarned)
      this.#log.warn({ bytes, records }, "journal: ingest is slower than requests arrive");
    this.#hasWarned = isWarned;
    const wasBehind = this.isBehind;
    this.isBehind = bytes > (wasBehind ? CAUGHT_UP_SHARE : BEHIND_SHARE) * this.#maxBytes;
    if (this.isBehind && !wasBehind)
      this.#log.error({ bytes, records }, "journal: half full, paid work is refused until ingest has caught up");
    else if (wasBehind && !this.isBehind) this.#log.info({ records }, "journal: ingest has caught up");
    this.quietBytes = isWarned ? ALWAYS : WARN_SHARE * this.#maxBytes;
  }
}

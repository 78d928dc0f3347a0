import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Disk } from "./disk.ts";
import type { Journal } from "./journal.ts";
import type { SegmentBatch } from "./segment-files.ts";
import type { SerializeRecord } from "./segment-frames.ts";

export type JournalSettings = {
  readonly dir: string;
  readonly clock: Clock;
  /** Group fdatasync at this interval; 0 syncs every write before it is acknowledged. */
  readonly syncEveryMs: number;
  readonly log: Log;
  /** By default complete JSON. */
  readonly serializeRecord?: SerializeRecord;
  readonly disk?: Disk;
  /** A segment is rotated at this size or age. */
  readonly segmentMaxBytes?: number;
  readonly segmentMaxAgeMs?: number;
  /** Of all segments. Beyond it, paid work is refused until SQL has caught up. */
  readonly maxBytes?: number;
  readonly probeEveryMs?: number;
};

/** The journal with what the ingester needs. */
export type IngestableJournal = Journal & {
  /** Segments of an earlier process, oldest first. */
  readonly leftovers: readonly string[];
  /** Finished records that are written and not yet in SQL. */
  readonly pending: number;
  /** Resolves when everything appended so far has been written or has failed. */
  whenWritten(): Promise<void>;
  /** The next finished records that are not in SQL, oldest first; valid until the next call. */
  nextBatch(recordsMax: number): SegmentBatch | undefined;
  markIngested(load: SegmentBatch): void;
  /** While ingest fails, the journal fills up to its limit; while it is only slow, paid work is refused well before. */
  isIngestFailing: boolean;
  /** Returns a predicate: whether everything that is finished now is in SQL. */
  ingestWatermark(): () => boolean;
  /** Called after writes with finished records. */
  onRecordsFinished(listener: () => void): void;
};

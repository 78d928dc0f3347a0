import type { RecordSink } from "../../domain/record/record-batch.ts";
import type { Log } from "../../kit/log.ts";
import type { BatchIngest } from "./batch-ingest.ts";
import type { IngestableJournal } from "./ingestable-journal.ts";

export type IngesterSettings = {
  readonly journal: IngestableJournal;
  readonly store: RecordSink;
  /** Takes the batches that the store rejects. */
  readonly ingest: BatchIngest;
  /** From 0 up to 1: spreads retries of instances that failed together. */
  readonly random: () => number;
  readonly log: Log;
  readonly batchMax?: number;
  readonly everyMs?: number;
  readonly backoffFirstMs?: number;
  readonly backoffMaxMs?: number;
};

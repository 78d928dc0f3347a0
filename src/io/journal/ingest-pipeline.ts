import path from "node:path";
import type { RecordSink } from "../../domain/record/record-batch.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { BatchIngest } from "./batch-ingest.ts";
import { type DeadLetterCount, DeadLetterScanner } from "./dead-letters.ts";
import { type Disk, realDisk } from "./disk.ts";
import type { JournalSettings } from "./ingestable-journal.ts";
import { Ingester } from "./ingester.ts";
import type { IngesterSettings } from "./ingester-settings.ts";
import type { Journal } from "./journal.ts";
import { openJournal, segmentsIn } from "./open-journal.ts";
import { type ReplayDeps, type ReplayReport, replay, replayDeadLetters } from "./replay.ts";

export const JOURNAL_FOLDER = "journal";

/** The journal and its ingest into SQL. */
export type IngestPipeline = {
  readonly journal: Journal;
  readonly replayed: ReplayReport;
  /** Finished records that are not in SQL yet. */
  pending(): number;
  /** What an operator must look at. */
  deadLetters(): DeadLetterCount;
  /** Resolves when everything that was finished before the call is in SQL; rejects when SQL fails. */
  flush(): Promise<void>;
  /** `left`: SQL failed, and records stay in the journal for the next start. */
  close(): Promise<"done" | "left">;
};

export type IngestPipelineSettings = {
  readonly dataDir: string;
  readonly store: RecordSink;
  readonly clock: Clock;
  /** From 0 up to 1, for the jitter of retries. */
  readonly random: () => number;
  readonly syncEveryMs: number;
  readonly log: Log;
  readonly serializeRecord?: JournalSettings["serializeRecord"];
  readonly disk?: Disk;
  /** The log retains requests from this moment on; by default all of them. */
  readonly logRetainedFromMs?: number;
  /** Data directories of all processes on this machine, for the count of dead letters. By default this one. */
  readonly dataDirs?: () => readonly string[];
  /** For tests: smaller segments, shorter waits. */
  readonly tuning?: Partial<
    Pick<JournalSettings, "segmentMaxBytes" | "segmentMaxAgeMs" | "maxBytes" | "probeEveryMs"> &
      Pick<IngesterSettings, "batchMax" | "everyMs" | "backoffFirstMs" | "backoffMaxMs">
  >;
};

/**
 * Opens the journal, replays segments of an earlier process, and starts the ingest. When it resolves, balances in SQL
 * include every earlier charge, so shared state can be filled from them.
 */
export async function openIngestPipeline(settings: IngestPipelineSettings): Promise<IngestPipeline> {
  const { dataDir, store, clock, random, syncEveryMs, log, serializeRecord, disk = realDisk, tuning = {} } = settings;
  const { logRetainedFromMs = Number.NEGATIVE_INFINITY, dataDirs = () => [dataDir] } = settings;
  const dir = path.join(dataDir, JOURNAL_FOLDER);
  const journal = await openJournal({
    ...tuning,
    dir,
    clock,
    syncEveryMs,
    log,
    disk,
    ...(serializeRecord && { serializeRecord }),
  });
  const ingest = new BatchIngest(store, dir, disk, log);
  const replayDeps = { disk, ingest, log, logRetainedFromMs };
  const replayed = await replayFolder(dir, journal.leftovers, replayDeps).catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  const deadLetters = new DeadLetterScanner(() => dataDirs().map((folder) => path.join(folder, JOURNAL_FOLDER)));
  const ingester = new Ingester({ ...tuning, journal, store, ingest, random, log });
  ingester.start();
  return {
    journal,
    replayed,
    pending: () => journal.pending,
    deadLetters: () => deadLetters.count(),
    flush: () => ingester.flush(),
    async close() {
      const end = await ingester.stop();
      await journal.close();
      return end;
    },
  };
}

/** Ingests the journal of a process that has exited and will not restart. */
export async function replayAbandonedJournal(
  dataDir: string,
  settings: Pick<IngestPipelineSettings, "store" | "log" | "disk" | "logRetainedFromMs">,
): Promise<ReplayReport> {
  const { store, log, disk = realDisk, logRetainedFromMs = Number.NEGATIVE_INFINITY } = settings;
  const dir = path.join(dataDir, JOURNAL_FOLDER);
  disk.makeFolder(dir);
  return replayFolder(dir, segmentsIn(dir, disk), {
    disk,
    ingest: new BatchIngest(store, dir, disk, log),
    log,
    logRetainedFromMs,
  });
}

async function replayFolder(dir: string, leftovers: readonly string[], deps: ReplayDeps): Promise<ReplayReport> {
  await replayDeadLetters(dir, deps);
  return replay(leftovers, deps);
}

import path from "node:path";
import type { RecordSink } from "../../domain/record/record-batch.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { BatchIngest } from "./batch-ingest.ts";
import { type DeadLetterCount, DeadLetterScanner } from "./dead-letters.ts";
import { type Disk, realDisk } from "./disk.ts";
import { Ingester, type IngesterSettings } from "./ingester.ts";
import type { Journal } from "./journal.ts";
import { type ReplayDeps, type ReplayReport, replay, replayDeadLetters } from "./replay.ts";
import { type JournalSettings, openJournal, segmentsIn } from "./segmented-journal.ts";

export const JOURNAL_FOLDER = "journal";

/** The journal with everything that moves it into SQL. */
export type IngestPipeline = {
  readonly journal: Journal;
  readonly replayed: ReplayReport;
  /** Finished records that are not in SQL yet. */
  pending(): number;
  /** What waits for a person. */
  deadLetters(): DeadLetterCount;
  /** Resolves when everything finished before the call is in SQL; rejects when SQL does not take it now. */
  flush(): Promise<void>;
  /** Moves what SQL takes, keeps the rest for the next start, and closes. `left`: there is such a rest. */
  close(): Promise<"done" | "left">;
};

export type IngestPipelineSettings = {
  readonly dataDir: string;
  readonly store: RecordSink;
  readonly clock: Clock;
  readonly syncEveryMs: number;
  readonly log: Log;
  readonly serializeRecord?: JournalSettings["serializeRecord"];
  readonly disk?: Disk;
  /** The log keeps requests from this moment on; unless set, all of them. */
  readonly logRetainedFromMs?: number;
  /** This data directory and those of other processes of the gateway: what was set aside there is told here, too. */
  readonly dataDirs?: () => readonly string[];
  /** For tests: smaller segments, shorter waits. */
  readonly tuning?: Partial<
    Pick<JournalSettings, "segmentMaxBytes" | "segmentMaxAgeMs" | "maxBytes" | "probeEveryMs"> &
      Pick<IngesterSettings, "batchMax" | "everyMs" | "backoffFirstMs" | "backoffMaxMs">
  >;
};

/**
 * Opens the journal, replays what an earlier process left, and begins to move finished requests into SQL. When this
 * resolves, balances in SQL include every charge made before, so shared state can be filled from them.
 */
export async function openIngestPipeline(settings: IngestPipelineSettings): Promise<IngestPipeline> {
  const { dataDir, store, clock, syncEveryMs, log, serializeRecord, disk = realDisk, tuning = {} } = settings;
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
  const replaying = { disk, mover: ingest, log, loggedFromMs: logRetainedFromMs };
  const replayed = await replayFolder(dir, journal.leftovers, replaying).catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  const aside = new DeadLetterScanner(() => dataDirs().map((home) => path.join(home, JOURNAL_FOLDER)));
  const ingester = new Ingester({ ...tuning, journal, ingest, clock, log });
  ingester.start();
  return {
    journal,
    replayed,
    pending: () => journal.pending,
    deadLetters: () => aside.count(),
    flush: () => ingester.flush(),
    async close() {
      const end = await ingester.stop();
      await journal.close();
      return end;
    },
  };
}

/** Brings into SQL what a process that has ended left in its folder, and will not come back for. */
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

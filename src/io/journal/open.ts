import path from "node:path";
import type { RecordSink } from "../../domain/record/ingest.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { type Disk, realDisk } from "./disk.ts";
import { Ingester, type IngesterSettings } from "./ingester.ts";
import { type JournalSettings, openJournal, segmentsIn } from "./journal.ts";
import { Mover } from "./mover.ts";
import { type ReplayDeps, type ReplayReport, replay, replayAgain } from "./replay.ts";
import { AsideCount, type SetAside } from "./set-aside.ts";
import type { Journal } from "./types.ts";

export const JOURNAL_FOLDER = "journal";

/** The journal with everything that moves it into SQL. */
export type Books = {
  readonly journal: Journal;
  readonly replayed: ReplayReport;
  /** Finished records that are not in SQL yet. */
  pending(): number;
  /** What waits for a person. */
  setAside(): SetAside;
  /** Resolves when everything finished before the call is in SQL; rejects when SQL does not take it now. */
  flush(): Promise<void>;
  /** Moves what SQL takes, keeps the rest for the next start, and closes. `left`: there is such a rest. */
  close(): Promise<"done" | "left">;
};

export type BooksSettings = {
  readonly dataDir: string;
  readonly store: RecordSink;
  readonly clock: Clock;
  readonly syncEveryMs: number;
  readonly log: Log;
  readonly textOf?: JournalSettings["textOf"];
  readonly disk?: Disk;
  /** The log keeps requests from this moment on; unless set, all of them. */
  readonly loggedFromMs?: number;
  /** This data directory and those of other processes of the gateway: what was set aside there is told here, too. */
  readonly homes?: () => readonly string[];
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
export async function openBooks(settings: BooksSettings): Promise<Books> {
  const { dataDir, store, clock, syncEveryMs, log, textOf, disk = realDisk, tuning = {} } = settings;
  const { loggedFromMs = Number.NEGATIVE_INFINITY, homes = () => [dataDir] } = settings;
  const dir = path.join(dataDir, JOURNAL_FOLDER);
  const journal = await openJournal({ ...tuning, dir, clock, syncEveryMs, log, disk, ...(textOf && { textOf }) });
  const mover = new Mover(store, dir, disk, log);
  const replaying = { disk, mover, log, loggedFromMs };
  const replayed = await takeOver(dir, journal.leftovers, replaying).catch(async (error: unknown) => {
    await journal.close();
    throw error;
  });
  const aside = new AsideCount(() => homes().map((home) => path.join(home, JOURNAL_FOLDER)));
  const ingester = new Ingester({ ...tuning, journal, mover, clock, log });
  ingester.start();
  return {
    journal,
    replayed,
    pending: () => journal.pending,
    setAside: () => aside.now(),
    flush: () => ingester.flush(),
    async close() {
      const end = await ingester.stop();
      await journal.close();
      return end;
    },
  };
}

/** Brings into SQL what a process that has ended left in its folder, and will not come back for. */
export async function replayLeft(
  dataDir: string,
  settings: Pick<BooksSettings, "store" | "log" | "disk" | "loggedFromMs">,
): Promise<ReplayReport> {
  const { store, log, disk = realDisk, loggedFromMs = Number.NEGATIVE_INFINITY } = settings;
  const dir = path.join(dataDir, JOURNAL_FOLDER);
  disk.makeFolder(dir);
  return takeOver(dir, segmentsIn(dir, disk), { disk, mover: new Mover(store, dir, disk, log), log, loggedFromMs });
}

async function takeOver(dir: string, leftovers: readonly string[], deps: ReplayDeps): Promise<ReplayReport> {
  await replayAgain(dir, deps);
  return replay(leftovers, deps);
}

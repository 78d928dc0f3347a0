import type { JournalSettings } from "./ingestable-journal.ts";
import type { JournalSpace } from "./journal-space.ts";
import type { SegmentFiles } from "./segment-files.ts";
import type { SegmentReader } from "./segment-frames.ts";
import type { SegmentIndex } from "./segment-index.ts";
import type { SegmentWriter } from "./segment-writer.ts";
import type { WriteHealth } from "./write-health.ts";

export type JournalParts = {
  readonly files: SegmentFiles;
  readonly segments: SegmentIndex;
  readonly writer: SegmentWriter;
  readonly reader: SegmentReader;
  readonly health: WriteHealth;
  readonly space: JournalSpace;
};

/** The appends of one event-loop tick, which are written with one call. */
export type TickAppends = {
  readonly entries: { readonly t: "open" | "done"; readonly id: string }[];
  readonly written: PromiseWithResolvers<void>;
};

export type SegmentedJournalSettings = Pick<Required<JournalSettings>, "serializeRecord" | "maxBytes">;

import type {
  Batch,
  BatchError,
  BatchHead,
  BatchPart,
  BatchProgress,
  BatchStatus,
  ClaimedPart,
  LineOutcome,
  PauseReason,
  StopReason,
} from "./batch.ts";
import type { FileContent, StoredFile } from "./stored-file.ts";

/** A process that works on batches; its claims end with their leases. */
export type Lease = { readonly owner: string; readonly nowMs: number; readonly untilMs: number };

/** What a part has from an earlier run of it. */
export type PartRemains = {
  /** Lines that have an outcome. */
  readonly done: ReadonlySet<number>;
  /** Records that may not be in the journal. */
  readonly records: readonly { readonly line: number; readonly text: string }[];
};

export type BatchListing = {
  readonly shape: Batch["shape"];
  readonly limit: number;
  /** The id of the last batch of the page before, or of the first one of the page after. */
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly mayRead: (keyId: string) => boolean;
};

/**
 * Batches with their parts and outcomes, encrypted per workspace. Expired batches and those of other workspaces are
 * indistinguishable from unknown ones.
 */
export type BatchStore = {
  add(batch: Batch): Promise<void>;
  find(workspaceId: string, id: string, nowMs: number): Promise<Batch | undefined>;
  /** Newest first. */
  list(
    workspaceId: string,
    nowMs: number,
    listing: BatchListing,
  ): Promise<{ readonly batches: readonly Batch[]; readonly hasMore: boolean }>;
  progress(ids: readonly string[]): Promise<ReadonlyMap<string, BatchProgress>>;
  /** Batches that are not over, of all workspaces, oldest first. */
  unfinished(): Promise<readonly BatchHead[]>;
  unfinishedCount(workspaceId: string): Promise<number>;
  /** Stops a batch that is not over: its running lines end, the others get this reason. */
  stop(id: string, reason: StopReason, nowMs: number): Promise<void>;
  /** Claims a step that one process does for the whole batch: validation or finalization. */
  claim(id: string, lease: Lease): Promise<boolean>;
  /** Extends the claims of the owner. */
  renew(lease: Lease): Promise<void>;
  /** Ends all claims of the owner. */
  releaseAll(owner: string): Promise<void>;
  /** Ends all claims; for the only process, at its start. */
  resetClaims(): Promise<void>;
  /** Replaces the parts and starts the batch, unless it was stopped. */
  start(id: string, parts: readonly BatchPart[], nowMs: number): Promise<void>;
  fail(batch: Pick<BatchHead, "id" | "workspaceId">, errors: readonly BatchError[], nowMs: number): Promise<void>;
  claimPart(batchId: string, lease: Lease): Promise<ClaimedPart | undefined>;
  releasePart(part: BatchPart, owner: string): Promise<void>;
  /** All lines of the part have an outcome, and its records are in the journal. */
  finishPart(part: BatchPart): Promise<void>;
  partRemains(part: BatchPart): Promise<PartRemains>;
  /** Parts with lines to run, and how many of them are claimed. */
  openParts(batchId: string, nowMs: number): Promise<{ readonly open: number; readonly claimed: number }>;
  unfinishedParts(batchId: string): Promise<readonly BatchPart[]>;
  /** Stores outcomes, the first of each line; returns `batchId:line` of those that were stored. */
  saveOutcomes(outcomes: readonly LineOutcome[]): Promise<ReadonlySet<string>>;
  pause(id: string, reason: PauseReason, nowMs: number, untilMs: number): Promise<void>;
  resume(id: string): Promise<void>;
  setStatus(id: string, status: BatchStatus, nowMs: number): Promise<void>;
  /** Ends the batch, with the files of its results. */
  finish(id: string, status: BatchStatus, nowMs: number, results: readonly StoredFile[]): Promise<void>;
  /** Bytes of the outcomes that belong to a file; undefined: there are none. */
  resultBytes(batchId: string, content: FileContent | "all"): Promise<number | undefined>;
  /** The next outcomes after a line, in order; empty: no more. */
  results(
    batch: Pick<BatchHead, "id" | "workspaceId">,
    content: FileContent | "all",
    afterLine: number,
  ): Promise<readonly { readonly line: number; readonly text: string }[]>;
  remove(workspaceId: string, id: string): Promise<boolean>;
  /** Deletes everything of a workspace, its files included. */
  purge(workspaceId: string): Promise<void>;
  /** Deletes batches that are no longer kept. */
  sweep(nowMs: number): Promise<number>;
};

export const outcomeKey = ({ batchId, line }: Pick<LineOutcome, "batchId" | "line">) => `${batchId}:${line}`;

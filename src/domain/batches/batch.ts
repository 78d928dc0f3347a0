import type { BATCH_STATUSES, PAUSE_REASONS } from "../../contract/batches.ts";

export type BatchStatus = (typeof BATCH_STATUSES)[number];

const ENDED: ReadonlySet<BatchStatus> = new Set(["failed", "completed", "expired", "cancelled"]);

export function isBatchOver({ status }: { readonly status: BatchStatus }): boolean {
  return ENDED.has(status);
}

/** The API that created the batch, which decides the form of its results. */
export type BatchShape = "openai" | "anthropic";

/** Why lines that have not run never will. */
export const STOP_REASONS = ["cancelled", "expired", "key_invalid", "retention_forbidden"] as const;
export type StopReason = (typeof STOP_REASONS)[number];

export type PauseReason = (typeof PAUSE_REASONS)[number];

export type BatchPause = { readonly reason: PauseReason; readonly sinceMs: number; readonly untilMs: number };

export type BatchError = {
  readonly code: string;
  readonly message: string;
  readonly param: string | null;
  /** One-based; null: the whole file. */
  readonly line: number | null;
};

/** When the batch reached each status. */
export type BatchTimes = Partial<Record<BatchStatus, number>>;

/** The fields that the work on a batch needs; none is encrypted. */
export type BatchHead = {
  readonly id: string;
  readonly workspaceId: string;
  readonly keyId: string;
  readonly shape: BatchShape;
  /** The path that every line calls. */
  readonly endpoint: string;
  readonly inputFileId: string;
  readonly status: BatchStatus;
  readonly createdAtMs: number;
  /** Lines that have not run by then never will. */
  readonly expiresAtMs: number;
  /** When the batch and its results are deleted. */
  readonly keepUntilMs: number;
  /** Number of lines; 0 until it is validated. */
  readonly total: number;
  readonly stop: StopReason | null;
  readonly pause: BatchPause | null;
  readonly times: BatchTimes;
  readonly outputFileId: string | null;
  readonly errorFileId: string | null;
};

/** What the creating request carried; its lines are sent with these headers. */
export type BatchOrigin = {
  readonly headers: Readonly<Record<string, string>>;
  readonly clientAddress: string;
  readonly metadata: Readonly<Record<string, string>> | null;
};

export type Batch = BatchHead & { readonly origin: BatchOrigin; readonly errors: readonly BatchError[] };

/** Lines by their end, and what they used so far. */
export type BatchProgress = {
  readonly succeeded: number;
  readonly errored: number;
  readonly cancelled: number;
  readonly expired: number;
  readonly costNanos: bigint;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedTokens: number;
  readonly reasoningTokens: number;
};

export const NO_PROGRESS: BatchProgress = {
  succeeded: 0,
  errored: 0,
  cancelled: 0,
  expired: 0,
  costNanos: 0n,
  inputTokens: 0,
  outputTokens: 0,
  cachedTokens: 0,
  reasoningTokens: 0,
};

export const LINE_ENDS = ["succeeded", "errored", "cancelled", "expired"] as const;
export type LineEnd = (typeof LINE_ENDS)[number];

/** Consecutive lines of a batch: the lines of one chunk of its input. */
export type BatchPart = {
  readonly batchId: string;
  readonly number: number;
  /** Zero-based number of its first line in the batch. */
  readonly firstLine: number;
  readonly lines: number;
};

/** `runs`: how often it was claimed. */
export type ClaimedPart = BatchPart & { readonly runs: number };

export type LineOutcome = {
  readonly batchId: string;
  readonly workspaceId: string;
  readonly part: number;
  readonly line: number;
  readonly end: LineEnd;
  /** The line of the results, with its line break. */
  readonly text: string;
  /** The record of a served request as JSON, journaled right after the outcome is stored; null: nothing to charge. */
  readonly record: string | null;
  readonly usage: Omit<BatchProgress, LineEnd>;
};

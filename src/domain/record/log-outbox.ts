/** Where the request log can be sent as it grows. */
export const LOG_TARGETS = ["otlp", "webhook", "files"] as const;
export type LogTarget = (typeof LOG_TARGETS)[number];

/** A finished request on its way to one target: the JSON text of its record. */
export type OutboxRecord = { readonly requestId: string; readonly record: string; readonly queuedAtMs: number };

/**
 * Finished requests that a target has not taken yet. A row is there before the request is in the log, and leaves once
 * the target took it: so every one arrives at least once, whatever order they came in and whoever died in between.
 */
export type LogOutbox = {
  /**
   * Twice changes nothing. One that is charged takes the place of one that is not: a request can be in the log as
   * interrupted before its end comes.
   */
  add(
    targets: readonly LogTarget[],
    records: readonly (OutboxRecord & { readonly isCharged: boolean })[],
  ): Promise<void>;
  /** The oldest first. */
  nextBatch(target: LogTarget, limit: number): Promise<OutboxRecord[]>;
  /** As they were when they were read: what took their place meanwhile stays. */
  acknowledge(target: LogTarget, sent: readonly Pick<OutboxRecord, "requestId" | "queuedAtMs">[]): Promise<void>;
  /** When the one was queued that waits longest. */
  oldestQueuedAtMs(target: LogTarget): Promise<number | undefined>;
  /** Gives up what was queued before then; how many it were. */
  expire(target: LogTarget, beforeMs: number): Promise<number>;
};

/** Export targets of the request log. */
export const LOG_TARGETS = ["otlp", "webhook", "files"] as const;
export type LogTarget = (typeof LOG_TARGETS)[number];

/** A finished request that is queued for a target; `record` is its JSON text. */
export type OutboxRecord = { readonly requestId: string; readonly record: string; readonly queuedAtMs: number };

/**
 * Transactional outbox of the log export. A row is written before the request is in the log and deleted once the target
 * accepted it, so every request arrives at least once, also after a crash.
 */
export type LogOutbox = {
  /**
   * Idempotent. A charged record replaces a free one: a request may be logged as interrupted before its end is known.
   */
  add(
    targets: readonly LogTarget[],
    records: readonly (OutboxRecord & { readonly isCharged: boolean })[],
  ): Promise<void>;
  /** Oldest first. */
  nextBatch(target: LogTarget, limit: number): Promise<OutboxRecord[]>;
  /** Deletes exactly the versions that were read; a row that was replaced meanwhile stays. */
  acknowledge(target: LogTarget, sent: readonly Pick<OutboxRecord, "requestId" | "queuedAtMs">[]): Promise<void>;
  oldestQueuedAtMs(target: LogTarget): Promise<number | undefined>;
  /** Deletes rows that were queued before the time; returns how many. */
  expire(target: LogTarget, beforeMs: number): Promise<number>;
};

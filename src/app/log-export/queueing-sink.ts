import { z } from "zod";
import type { LogOutbox, LogTarget, OutboxRecord } from "../../domain/record/log-outbox.ts";
import type { LogStore } from "../../domain/record/record.ts";
import { decodeBatch, type RecordSink } from "../../domain/record/record-batch.ts";
import { INTERRUPTED } from "../../domain/record/request-outcome.ts";
import { StoreError } from "../../io/store/sql/store-error.ts";
import type { Clock } from "../../kit/clock.ts";

type QueueingSinkDeps = {
  readonly outbox: Pick<LogOutbox, "add">;
  readonly log: Pick<LogStore, "find">;
  readonly targets: readonly LogTarget[];
  readonly clock: Clock;
  /** The store can never take them for this: the log itself goes on without. */
  readonly lost: (count: number, error: unknown) => void;
};

const told = z.object({
  id: z.string(),
  charge: z.object({ nanos: z.string() }).nullish(),
  errorCode: z.string().nullish(),
});

/**
 * The way of records into SQL, with a stop on it: what is to be sent is queued before it is in the log. The other way
 * around a process that dies in between would have it in the log and nowhere else.
 */
export function withExportQueue(sink: RecordSink, { outbox, log, targets, clock, lost }: QueueingSinkDeps): RecordSink {
  return {
    async ingestBatch(batch) {
      const queuedAtMs = clock.nowMs();
      const waiting: (OutboxRecord & { readonly isCharged: boolean })[] = [];
      for (const record of decodeBatch(batch)) {
        const { id: requestId, charge, errorCode } = told.parse(JSON.parse(record));
        // A replay that finds the begin of a request alone takes it for interrupted. What is in the log was queued before.
        if (errorCode === INTERRUPTED && (await log.find(requestId)) !== undefined) continue;
        waiting.push({ requestId, record, queuedAtMs, isCharged: (charge?.nanos ?? "0") !== "0" });
      }
      try {
        await outbox.add(targets, waiting);
      } catch (error) {
        if (!(error instanceof StoreError) || error.failure === "unavailable") throw error;
        lost(waiting.length, error);
      }
      await sink.ingestBatch(batch);
    },
  };
}

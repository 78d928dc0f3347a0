import { z } from "zod";
import type { LogOutbox, LogTarget, OutboxRecord } from "../../domain/record/log-outbox.ts";
import type { LogStore } from "../../domain/record/record.ts";
import { INTERRUPTED } from "../../domain/record/record.ts";
import { decodeBatch, type RecordSink } from "../../domain/record/record-batch.ts";
import { StoreError } from "../../io/store/sql/store-error.ts";
import type { Clock } from "../../kit/clock.ts";

type ExportQueueDeps = {
  readonly outbox: Pick<LogOutbox, "add">;
  readonly log: Pick<LogStore, "find">;
  readonly targets: readonly LogTarget[];
  readonly clock: Clock;
  /** Called for records that the outbox permanently rejects; they are ingested without being exported. */
  readonly onDropped: (count: number, error: unknown) => void;
};

const recordSchema = z.object({
  id: z.string(),
  charge: z.object({ nanos: z.string() }).nullish(),
  errorCode: z.string().nullish(),
});

/**
 * Queues records for export before they are ingested into SQL: in the other order, a crash in between would leave a record
 * in the log that is never exported.
 */
export function withExportQueue(
  sink: RecordSink,
  { outbox, log, targets, clock, onDropped }: ExportQueueDeps,
): RecordSink {
  return {
    async ingestBatch(batch) {
      const queuedAtMs = clock.nowMs();
      const queued: (OutboxRecord & { readonly isCharged: boolean })[] = [];
      for (const record of decodeBatch(batch)) {
        const { id: requestId, charge, errorCode } = recordSchema.parse(JSON.parse(record));
        // A replay that finds only the start of a request reports it as interrupted; if the log has it, it was queued before.
        if (errorCode === INTERRUPTED && (await log.find(requestId)) !== undefined) continue;
        queued.push({ requestId, record, queuedAtMs, isCharged: (charge?.nanos ?? "0") !== "0" });
      }
      try {
        await outbox.add(targets, queued);
      } catch (error) {
        if (!(error instanceof StoreError) || error.failure === "unavailable") throw error;
        onDropped(queued.length, error);
      }
      await sink.ingestBatch(batch);
    },
  };
}

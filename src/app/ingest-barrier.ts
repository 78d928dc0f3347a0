import { fault } from "../contract/faults.ts";
import { cancelTimer, type Timers } from "../kit/timers.ts";

export type IngestBarrier = {
  readonly timers: Timers;
  /** Resolves when every journal entry written before the call is in SQL. */
  waitForIngest(): Promise<void>;
};

const INGEST_WAIT_MS_MAX = 2_000;

/** Waits until SQL has every earlier journal entry; throws a 503 with `message` at the timeout. */
export async function requireIngested({ timers, waitForIngest }: IngestBarrier, message: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<"late">();
  const timer = timers.after(INGEST_WAIT_MS_MAX, () => resolve("late"));
  const ingested = waitForIngest().then(
    () => "ingested" as const,
    () => "late" as const,
  );
  const end = await Promise.race([ingested, promise]);
  cancelTimer(timer);
  if (end === "late") throw fault("service_unavailable", { message, headers: { "retry-after": "5" } });
}

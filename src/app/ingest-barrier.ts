import { fault } from "../contract/faults.ts";
import { cancelTimer, type Timers } from "../kit/timers.ts";

export type IngestBarrier = {
  readonly timers: Timers;
  /** Resolves when everything the journal held at the call can be read from SQL. */
  waitForIngest(): Promise<void>;
};

/** What happened a moment ago is on its way into SQL. */
const INGEST_WAIT_MS_MAX = 2_000;

/** Resolves when what happened before the call is in SQL. If that takes long, the caller is refused with `message`. */
export async function requireIngested({ timers, waitForIngest }: IngestBarrier, message: string): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<"late">();
  const timer = timers.after(INGEST_WAIT_MS_MAX, () => resolve("late"));
  const flushed = waitForIngest().then(
    () => "caught up" as const,
    () => "late" as const,
  );
  const end = await Promise.race([flushed, promise]);
  cancelTimer(timer);
  if (end === "late") throw fault("service_unavailable", { message, headers: { "retry-after": "5" } });
}

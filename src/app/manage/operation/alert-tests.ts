import { fault } from "../../../contract/faults.ts";
import type { Clock } from "../../../kit/clock.ts";
import { LruMap } from "../../../kit/lru-map.ts";
import { HOUR_MS } from "../../../kit/time.ts";

/** Enough for setting up a receiver; too few for keeping someone else's mailbox or server busy. */
export const ALERT_TESTS_PER_HOUR = 10;

const WORKSPACES_MAX = 10_000;

/** Test alerts of a workspace within the last hour: a test goes to addresses that nobody has confirmed. */
export class AlertTestThrottle {
  readonly #clock: Pick<Clock, "monotonicMs">;
  readonly #times = new LruMap<string, readonly number[]>(WORKSPACES_MAX);

  constructor(clock: Pick<Clock, "monotonicMs">) {
    this.#clock = clock;
  }

  /** Counts one more, or refuses it with the time at which there is context again. */
  take(workspaceId: string): void {
    const nowMs = this.#clock.monotonicMs();
    const recent = (this.#times.get(workspaceId) ?? []).filter((atMs) => nowMs - atMs < HOUR_MS);
    const [first = nowMs] = recent;
    if (recent.length < ALERT_TESTS_PER_HOUR) {
      this.#times.set(workspaceId, [...recent, nowMs]);
      return;
    }
    const seconds = Math.max(1, Math.ceil((first + HOUR_MS - nowMs) / 1000));
    throw fault("rate_limit_exceeded", {
      message: `A workspace may send ${ALERT_TESTS_PER_HOUR} test alerts an hour. The next one is possible in ${waitOf(seconds)}.`,
      headers: { "retry-after": String(seconds) },
    });
  }
}

function waitOf(seconds: number): string {
  if (seconds < 120) return `${seconds} seconds`;
  return `${Math.ceil(seconds / 60)} minutes`;
}

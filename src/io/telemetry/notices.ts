import type { Clock } from "../../kit/clock.ts";
import type { Logger } from "./log.ts";
import type { Metrics } from "./metrics.ts";
import type { Notice } from "./notice.ts";

const SAID_AGAIN_AFTER_MS = 60_000;

/** Counts what is noticed. What only the operator can mend is also logged, once a minute for each endpoint. */
export class Notices {
  readonly #metrics: Metrics;
  readonly #log: Pick<Logger, "warn">;
  readonly #clock: Clock;
  /** By endpoint, so bounded by the catalogue. */
  readonly #saidAtMs = new Map<string, number>();

  constructor(metrics: Metrics, log: Pick<Logger, "warn">, clock: Clock) {
    this.#metrics = metrics;
    this.#log = log;
    this.#clock = clock;
  }

  take(notice: Notice): void {
    this.#metrics.noticed(notice);
    if (notice.is !== "credential_refused") return;
    const { endpoint, provider, status } = notice;
    const nowMs = this.#clock.elapsedMs();
    const saidAtMs = this.#saidAtMs.get(endpoint);
    if (saidAtMs !== undefined && nowMs - saidAtMs < SAID_AGAIN_AFTER_MS) return;
    this.#saidAtMs.set(endpoint, nowMs);
    this.#log.warn(
      { endpoint, provider, upstreamStatus: status },
      "a provider refuses the gateway's own credential, account or deployment",
    );
  }
}

import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { Metrics } from "./metrics.ts";
import type { Otlp } from "./otlp.ts";
import { metricsMessage } from "./otlp-metrics.ts";
import type { OtlpSource } from "./otlp-values.ts";
import type { Posting } from "./posting.ts";

export type MetricPushParts = {
  readonly otlp: Otlp;
  readonly source: OtlpSource;
  readonly metrics: Pick<Metrics, "read">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly everyMs: number;
  readonly posted: (result: Posting) => void;
};

/** Sends all metrics now and again. One that does not arrive is made up for by the next: they are sums since the start. */
export class MetricPush {
  readonly #parts: MetricPushParts;
  readonly #sinceMs: number;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: MetricPushParts) {
    this.#parts = parts;
    this.#sinceMs = parts.clock.nowMs();
    this.#arm();
  }

  /** Once more, so that what was counted last is told, too. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    const deadline = this.#parts.timers.after(withinMs, () => this.#stopping.abort());
    await this.#running;
    await this.#push();
    cancelTimer(deadline);
  }

  #arm(): void {
    this.#timer = this.#parts.timers.after(this.#parts.everyMs, () => {
      this.#running = this.#push().finally(() => {
        this.#running = undefined;
        if (!this.#isStopped) this.#arm();
      });
    });
  }

  async #push(): Promise<void> {
    const { otlp, source, metrics, clock, posted } = this.#parts;
    const { series, gauges } = await metrics.read();
    const message = metricsMessage(source, series, gauges, { sinceMs: this.#sinceMs, nowMs: clock.nowMs() });
    posted(await otlp.send("metrics", message, this.#stopping.signal).catch(() => "refused" as const));
  }
}

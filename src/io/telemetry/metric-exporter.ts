import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { ExportResult } from "./export-result.ts";
import type { Metrics } from "./metrics.ts";
import type { OtlpClient } from "./otlp-client.ts";
import { encodeMetrics } from "./otlp-metrics.ts";
import type { OtlpSource } from "./otlp-values.ts";

export type MetricExporterDeps = {
  readonly otlp: OtlpClient;
  readonly source: OtlpSource;
  readonly metrics: Pick<Metrics, "snapshot">;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly intervalMs: number;
  readonly onExport: (result: ExportResult) => void;
};

/** Exports all metrics periodically. A lost export does no harm: values are cumulative since the start. */
export class MetricExporter {
  readonly #deps: MetricExporterDeps;
  readonly #startedAtMs: number;
  readonly #stopping = new AbortController();
  #timer: Timer | undefined;
  #running: Promise<void> | undefined;
  #isStopped = false;

  constructor(parts: MetricExporterDeps) {
    this.#deps = parts;
    this.#startedAtMs = parts.clock.nowMs();
    this.#schedule();
  }

  /** Exports once more, so that the last values arrive. */
  async stop(withinMs: number): Promise<void> {
    this.#isStopped = true;
    cancelTimer(this.#timer);
    const deadline = this.#deps.timers.after(withinMs, () => this.#stopping.abort());
    await this.#running;
    await this.#export();
    cancelTimer(deadline);
  }

  #schedule(): void {
    this.#timer = this.#deps.timers.after(this.#deps.intervalMs, () => {
      this.#running = this.#export().finally(() => {
        this.#running = undefined;
        if (!this.#isStopped) this.#schedule();
      });
    });
  }

  async #export(): Promise<void> {
    const { otlp, source, metrics, clock, onExport } = this.#deps;
    const { series, gauges } = await metrics.snapshot();
    const message = encodeMetrics(source, series, gauges, { sinceMs: this.#startedAtMs, nowMs: clock.nowMs() });
    onExport(await otlp.send("metrics", message, this.#stopping.signal).catch(() => "refused" as const));
  }
}

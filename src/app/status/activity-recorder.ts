import type { ProofStore } from "../../domain/catalogue/proofs.ts";
import {
  ACTIVITY_SPANS,
  type ActivityRow,
  type ActivitySpan,
  type ActivityStore,
} from "../../domain/routing/endpoint-activity.ts";
import type { CircuitBreakers, LatencyTracker } from "../../domain/routing/endpoint-health.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { addToSketch, mergeSketch, type QuantileSketch } from "../../kit/quantile-sketch.ts";
import { DAY_MS, HOUR_MS } from "../../kit/time.ts";

const FLUSH_EVERY_MS = 60_000;
const SPAN_MS: Readonly<Record<ActivitySpan, number>> = { hour: HOUR_MS, day: DAY_MS };
/** A little more than the status page shows. */
const KEPT_MS: Readonly<Record<ActivitySpan, number>> = { hour: 2 * DAY_MS, day: 92 * DAY_MS };

export type ActivityRecorderDeps = {
  readonly clock: Clock;
  /** Differs between processes, also between two starts of one instance. */
  readonly process: string;
  readonly breakers: Pick<CircuitBreakers, "statusOf">;
  readonly latencies: Pick<LatencyTracker, "takeSketches">;
  readonly endpointIds: () => Iterable<string>;
  readonly store: ActivityStore;
  readonly probes: Pick<ProofStore, "since">;
  readonly isLeader: () => boolean;
  readonly warn: Log["warn"];
};

type Counts = { readonly served: number; readonly failed: number };

/**
 * Counts attempts per endpoint, hour and day for the status page. It reads what circuit breakers and latency estimates count
 * anyway, once a minute, so it costs requests nothing; a crash loses the last minute.
 */
export class ActivityRecorder {
  readonly #deps: ActivityRecorderDeps;
  /** Counts at the last flush. */
  readonly #seen = new Map<string, Counts>();
  /** The running hour and day, and earlier ones that are not stored yet. */
  readonly #rows = new Map<string, ActivityRow & { isStored: boolean }>();
  /** Probes since this time may be uncounted; `#countedProbes` are not. */
  #probesFromMs: number;
  #countedProbes: ReadonlySet<string> = new Set();
  readonly #timer: NodeJS.Timeout;
  #flushing: Promise<void> = Promise.resolve();

  constructor(deps: ActivityRecorderDeps) {
    this.#deps = deps;
    this.#probesFromMs = deps.clock.nowMs();
    this.#timer = setInterval(() => void this.flush(), FLUSH_EVERY_MS);
    this.#timer.unref();
  }

  /** Stores what happened since the last flush; a failure is repeated with the next one. */
  flush(): Promise<void> {
    this.#flushing = this.#flushing.then(() => this.#flush());
    return this.#flushing;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.flush();
  }

  async #flush(): Promise<void> {
    const { process, store, warn } = this.#deps;
    this.#collectAttempts();
    await this.#collectProbes().catch(() => undefined);
    const pending = [...this.#rows.values()].filter(({ isStored }) => !isStored);
    for (const row of pending) row.isStored = true;
    try {
      await store.put(process, pending);
      this.#dropPast();
      await this.#sweep();
    } catch (error) {
      for (const row of pending) row.isStored = false;
      warn({ error: String(error) }, "status: endpoint activity not stored, will retry");
    }
  }

  /** Probes count like requests. The leader runs them, and so it counts them. */
  async #collectProbes(): Promise<void> {
    const { clock, probes, isLeader } = this.#deps;
    if (!isLeader()) return;
    const nowMs = clock.nowMs();
    const recent = await probes.since(this.#probesFromMs);
    for (const { id, endpoint, result, durationMs } of recent) {
      if (this.#countedProbes.has(id)) continue;
      const latencyMs: QuantileSketch = new Map();
      if (result === "proven") addToSketch(latencyMs, durationMs);
      this.#add(endpoint, { served: result === "proven" ? 1 : 0, failed: result === "proven" ? 0 : 1 }, latencyMs);
    }
    this.#probesFromMs = Math.max(this.#probesFromMs, nowMs - 2 * FLUSH_EVERY_MS);
    this.#countedProbes = new Set(recent.map(({ id }) => id));
  }

  #collectAttempts(): void {
    const { breakers, latencies, endpointIds } = this.#deps;
    const sketches = latencies.takeSketches();
    for (const endpoint of endpointIds()) {
      const { served, failed } = breakers.statusOf(endpoint);
      const before = this.#seen.get(endpoint) ?? { served: 0, failed: 0 };
      if (served === before.served && failed === before.failed && !sketches.has(endpoint)) continue;
      this.#seen.set(endpoint, { served, failed });
      const counts = { served: served - before.served, failed: failed - before.failed };
      this.#add(endpoint, counts, sketches.get(endpoint) ?? new Map());
    }
  }

  #add(endpoint: string, { served, failed }: Counts, latencyMs: QuantileSketch): void {
    for (const span of ACTIVITY_SPANS) {
      const startMs = this.#startOf(span);
      const key = `${span} ${startMs} ${endpoint}`;
      const empty = { span, startMs, endpoint, served: 0, failed: 0, latencyMs: new Map(), isStored: false };
      const row = this.#rows.get(key) ?? empty;
      this.#rows.set(key, row);
      row.served += served;
      row.failed += failed;
      row.isStored = false;
      mergeSketch(row.latencyMs, latencyMs);
    }
  }

  #startOf(span: ActivitySpan): number {
    const nowMs = this.#deps.clock.nowMs();
    return nowMs - (nowMs % SPAN_MS[span]);
  }

  #dropPast(): void {
    for (const [key, { span, startMs, isStored }] of this.#rows)
      if (isStored && startMs < this.#startOf(span)) this.#rows.delete(key);
  }

  async #sweep(): Promise<void> {
    const { store, clock, isLeader } = this.#deps;
    if (!isLeader()) return;
    for (const span of ACTIVITY_SPANS) await store.sweep(span, clock.nowMs() - KEPT_MS[span]);
  }
}

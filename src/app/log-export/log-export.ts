import { LOG_TARGETS, type LogOutbox, type LogTarget, type OutboxRecord } from "../../domain/record/log-outbox.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import { parseRecord } from "../../domain/record/record-schema.ts";
import type { ExportResult } from "../../io/telemetry/export-result.ts";
import { jitteredBackoffMs, type RetryPolicy } from "../../kit/backoff.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import { Ticker } from "../../kit/ticker.ts";
import { MINUTE_MS } from "../../kit/time.ts";
import type { Timers } from "../../kit/timers.ts";

export type SendRecords = (records: readonly RequestRecord[], abort: AbortSignal) => Promise<ExportResult>;

export type LogExportDeps = {
  readonly outbox: LogOutbox;
  readonly targets: ReadonlyMap<LogTarget, SendRecords>;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: () => number;
  /** Only the leader sends. */
  readonly isLeader: () => boolean;
  readonly batchMax: number;
  readonly everyMs: number;
  readonly retryPolicy: Pick<RetryPolicy, "baseDelayMs" | "maxDelayMs">;
  /** Records that a target did not accept for this long are dropped. */
  readonly keepMs: number;
  readonly metrics: {
    sent(target: LogTarget, count: number): void;
    failed(target: LogTarget): void;
    /** Too old, or rejected for its content. */
    dropped(target: LogTarget, count: number): void;
  };
  readonly warn: Log["warn"];
};

export type TargetStatus = { readonly target: LogTarget; readonly lagMs: number; readonly failures: number };

type TargetWorker = {
  readonly target: LogTarget;
  readonly ticker: Ticker;
  failures: number;
  notBeforeMs: number;
  lagMs: number;
};

/** Sends finished requests to the operator's log targets, each at its own pace. */
export class LogExport {
  readonly #deps: LogExportDeps;
  readonly #workers: readonly TargetWorker[];
  readonly #unconfiguredTicker: Ticker;
  readonly #shutdown = new AbortController();

  constructor(deps: LogExportDeps) {
    this.#deps = deps;
    this.#workers = [...deps.targets].map(([target, send]) => this.#createWorker(target, send));
    this.#unconfiguredTicker = new Ticker({
      intervalMs: MINUTE_MS,
      timers: deps.timers,
      task: () => this.#expireUnconfigured(),
      onError: (error) => deps.warn({ err: error }, "log-export: expiry of unconfigured targets failed"),
    });
  }

  start(): void {
    for (const ticker of this.#tickers) ticker.run();
  }

  /** Aborts requests in flight; the next process sends their records again. */
  async stop(): Promise<void> {
    this.#shutdown.abort();
    await Promise.all(this.#tickers.map((ticker) => ticker.stop()));
  }

  get #tickers(): readonly Ticker[] {
    return [...this.#workers.map(({ ticker }) => ticker), this.#unconfiguredTicker];
  }

  get statuses(): readonly TargetStatus[] {
    return this.#workers.map(({ target, lagMs, failures }) => ({ target, lagMs, failures }));
  }

  #createWorker(target: LogTarget, send: SendRecords): TargetWorker {
    const { everyMs: intervalMs, timers, warn } = this.#deps;
    const onError = (error: unknown) => warn({ err: error, target }, "log-export: send failed, will be retried");
    const task = () => this.#drain(worker, send);
    const worker: TargetWorker = {
      target,
      ticker: new Ticker({ intervalMs, timers, onError, task }),
      failures: 0,
      notBeforeMs: 0,
      lagMs: 0,
    };
    return worker;
  }

  async #drain(worker: TargetWorker, send: SendRecords): Promise<void> {
    const { outbox, clock, batchMax, isLeader } = this.#deps;
    const { target } = worker;
    if (!isLeader()) {
      worker.lagMs = 0;
      return;
    }
    await this.#expire(target);
    while (clock.monotonicMs() >= worker.notBeforeMs && isLeader() && !this.#shutdown.signal.aborted) {
      const batch = await outbox.nextBatch(target, batchMax);
      if (batch.length === 0) break;
      if (!(await this.#send(worker, send, batch))) break;
    }
    const oldestMs = await outbox.oldestQueuedAtMs(target);
    worker.lagMs = oldestMs === undefined ? 0 : Math.max(0, clock.nowMs() - oldestMs);
  }

  /** A target that was removed from the settings may have left records in the outbox. */
  async #expireUnconfigured(): Promise<void> {
    const { targets, isLeader } = this.#deps;
    for (const target of LOG_TARGETS) if (isLeader() && !targets.has(target)) await this.#expire(target);
  }

  async #expire(target: LogTarget): Promise<void> {
    const { outbox, clock, keepMs, metrics } = this.#deps;
    const expired = await outbox.expire(target, clock.nowMs() - keepMs);
    if (expired > 0) metrics.dropped(target, expired);
  }

  /** False: the target needs a pause. */
  async #send(worker: TargetWorker, send: SendRecords, batch: readonly OutboxRecord[]): Promise<boolean> {
    const { outbox, metrics, retryPolicy, clock, random, warn } = this.#deps;
    const { target } = worker;
    const result = await this.#trySend(target, send, batch);
    if (result === "later") {
      worker.failures += 1;
      worker.notBeforeMs = clock.monotonicMs() + jitteredBackoffMs(worker.failures, retryPolicy, random);
      metrics.failed(target);
      if (worker.failures === 1) warn({ target }, "log-export: target unavailable, will be retried");
      return false;
    }
    if (result === "refused" && batch.length > 1) {
      // One record is invalid or the batch is too large: bisect to find out which.
      const half = Math.ceil(batch.length / 2);
      return (await this.#send(worker, send, batch.slice(0, half))) && this.#send(worker, send, batch.slice(half));
    }
    worker.failures = 0;
    if (result === "refused") {
      metrics.dropped(target, 1);
      warn({ target, request: batch[0]?.requestId }, "log-export: record rejected and dropped");
    } else metrics.sent(target, batch.length);
    await outbox.acknowledge(target, batch);
    return true;
  }

  async #trySend(target: LogTarget, send: SendRecords, batch: readonly OutboxRecord[]): Promise<ExportResult> {
    const { warn } = this.#deps;
    const records = parseRecords(batch);
    // A record of another version may not parse; it is isolated like one that the target rejects.
    if (records === undefined) return "refused";
    try {
      return await send(records, this.#shutdown.signal);
    } catch (error) {
      warn({ err: error, target }, "log-export: send failed, will be retried");
      return "later";
    }
  }
}

function parseRecords(batch: readonly OutboxRecord[]): RequestRecord[] | undefined {
  try {
    return batch.map(({ record }) => parseRecord(record));
  } catch {
    return undefined;
  }
}

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
  /** Whether this process is the one of all that sends. */
  readonly isLeader: () => boolean;
  readonly batchMax: number;
  readonly everyMs: number;
  readonly patience: Pick<RetryPolicy, "baseDelayMs" | "maxDelayMs">;
  /** What no target took in this time is given up. */
  readonly keepMs: number;
  readonly metrics: {
    sent(target: LogTarget, count: number): void;
    failed(target: LogTarget): void;
    /** Given up: too old, or refused for what is in it. */
    lost(target: LogTarget, count: number): void;
  };
  readonly warn: Log["warn"];
};

/** How a target stands, for who runs the gateway. */
export type TargetStatus = { readonly target: LogTarget; readonly lagMs: number; readonly failures: number };

type TargetWorker = {
  readonly target: LogTarget;
  readonly ticker: Ticker;
  failures: number;
  notBeforeMs: number;
  lagMs: number;
};

/** Sends finished requests to where the operator wants the log, each target at its own pace. */
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
      onError: (error) =>
        deps.warn({ err: error }, "what waits for targets that are not set could not be given up now"),
    });
  }

  start(): void {
    for (const ticker of this.#tickers) ticker.run();
  }

  /** What is on its way is given up, and sent again by the next process. */
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
    const onError = (error: unknown) =>
      warn({ err: error, target }, "the request log could not be sent now; it is sent later");
    const task = () => this.#drain(lane, send);
    const lane: TargetWorker = {
      target,
      ticker: new Ticker({ intervalMs, timers, onError, task }),
      failures: 0,
      notBeforeMs: 0,
      lagMs: 0,
    };
    return lane;
  }

  async #drain(lane: TargetWorker, send: SendRecords): Promise<void> {
    const { outbox, clock, batchMax, isLeader } = this.#deps;
    const { target } = lane;
    if (!isLeader()) {
      lane.lagMs = 0;
      return;
    }
    await this.#expire(target);
    while (clock.monotonicMs() >= lane.notBeforeMs && isLeader() && !this.#shutdown.signal.aborted) {
      const waiting = await outbox.nextBatch(target, batchMax);
      if (waiting.length === 0) break;
      if (!(await this.#send(lane, send, waiting))) break;
    }
    const oldestMs = await outbox.oldestQueuedAtMs(target);
    lane.lagMs = oldestMs === undefined ? 0 : Math.max(0, clock.nowMs() - oldestMs);
  }

  /** A target that is set no more has no lane, and may have left a queue. */
  async #expireUnconfigured(): Promise<void> {
    const { targets, isLeader } = this.#deps;
    for (const target of LOG_TARGETS) if (isLeader() && !targets.has(target)) await this.#expire(target);
  }

  async #expire(target: LogTarget): Promise<void> {
    const { outbox, clock, keepMs, metrics } = this.#deps;
    const expired = await outbox.expire(target, clock.nowMs() - keepMs);
    if (expired > 0) metrics.lost(target, expired);
  }

  /** False: the target is to be left alone for now. */
  async #send(lane: TargetWorker, send: SendRecords, waiting: readonly OutboxRecord[]): Promise<boolean> {
    const { outbox, metrics, patience, clock, random, warn } = this.#deps;
    const { target } = lane;
    const result = await this.#trySend(target, send, waiting);
    if (result === "later") {
      lane.failures += 1;
      lane.notBeforeMs = clock.monotonicMs() + jitteredBackoffMs(lane.failures, patience, random);
      metrics.failed(target);
      if (lane.failures === 1) warn({ target }, "the target of the request log takes nothing now: it is tried again");
      return false;
    }
    if (result === "refused" && waiting.length > 1) {
      // One of them is not taken, or all together are too long: halves find out which.
      const half = Math.ceil(waiting.length / 2);
      return (await this.#send(lane, send, waiting.slice(0, half))) && this.#send(lane, send, waiting.slice(half));
    }
    lane.failures = 0;
    if (result === "refused") {
      metrics.lost(target, 1);
      warn({ target, request: waiting[0]?.requestId }, "a line of the request log is not taken and is given up");
    } else metrics.sent(target, waiting.length);
    await outbox.acknowledge(target, waiting);
    return true;
  }

  async #trySend(target: LogTarget, send: SendRecords, waiting: readonly OutboxRecord[]): Promise<ExportResult> {
    const { warn } = this.#deps;
    const records = readable(waiting);
    // Of another version that wrote what this one cannot read: it is found like one that a receiver refuses.
    if (records === undefined) return "refused";
    try {
      return await send(records, this.#shutdown.signal);
    } catch (error) {
      warn({ err: error, target }, "the request log could not be sent now; it is sent later");
      return "later";
    }
  }
}

function readable(waiting: readonly OutboxRecord[]): RequestRecord[] | undefined {
  try {
    return waiting.map(({ record }) => parseRecord(record));
  } catch {
    return undefined;
  }
}

import { Counter, Gauge, Histogram, Registry } from "@prometheus-io/client";
import type { RequestRecord } from "../../domain/record/record.ts";

const SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

export type Gauges = {
  readonly running: () => number;
  readonly draining: () => number;
  readonly journalPending: () => number;
};

/** Prometheus metrics. No label is ever a caller's string: routes, providers and codes are closed lists. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #http: Counter<"route" | "status">;
  readonly #httpSeconds: Histogram<"route">;
  readonly #requests: Counter<"surface" | "provider" | "status" | "code">;
  readonly #tokens: Counter<"provider" | "kind">;
  readonly #firstByte: Histogram<"provider">;
  readonly #overhead: Histogram;
  readonly #attempts: Counter<"provider" | "outcome">;

  constructor() {
    const registers = [this.#registry];
    this.#http = new Counter({
      name: "gateway_http_requests_total",
      help: "HTTP requests answered, by route and status.",
      labelNames: ["route", "status"],
      registers,
    });
    this.#httpSeconds = new Histogram({
      name: "gateway_http_request_seconds",
      help: "Time from a request's arrival to the end of its answer.",
      labelNames: ["route"],
      buckets: SECONDS,
      registers,
    });
    this.#requests = new Counter({
      name: "gateway_inference_requests_total",
      help: "Inference requests finished, by surface, serving provider, status and error code.",
      labelNames: ["surface", "provider", "status", "code"],
      registers,
    });
    this.#tokens = new Counter({
      name: "gateway_tokens_total",
      help: "Tokens used, by provider and kind.",
      labelNames: ["provider", "kind"],
      registers,
    });
    this.#firstByte = new Histogram({
      name: "gateway_first_byte_seconds",
      help: "Time to the first byte of an inference answer.",
      labelNames: ["provider"],
      buckets: SECONDS,
      registers,
    });
    this.#overhead = new Histogram({
      name: "gateway_overhead_seconds",
      help: "Time an inference request spent in the gateway itself.",
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 1],
      registers,
    });
    this.#attempts = new Counter({
      name: "gateway_attempts_total",
      help: "Attempts at provider endpoints, by outcome.",
      labelNames: ["provider", "outcome"],
      registers,
    });
  }

  /** Figures that are read when somebody asks. */
  watch(gauges: Gauges): void {
    gauge("gateway_running_requests", "HTTP requests being answered now.", gauges.running, this.#registry);
    gauge("gateway_draining", "1 while the gateway is stopping.", gauges.draining, this.#registry);
    gauge(
      "gateway_journal_pending_records",
      "Journal records not yet in the store.",
      gauges.journalPending,
      this.#registry,
    );
    gauge(
      "gateway_resident_memory_bytes",
      "Resident memory of the process.",
      () => process.memoryUsage.rss(),
      this.#registry,
    );
  }

  answered(route: string, status: number, durationMs: number): void {
    this.#http.inc({ route, status: String(status) });
    this.#httpSeconds.observe({ route }, durationMs / 1000);
  }

  finished(record: RequestRecord): void {
    const provider = record.provider ?? "none";
    this.#requests.inc({
      surface: record.surface,
      provider,
      status: String(record.status),
      code: record.errorCode ?? "none",
    });
    this.#overhead.observe(record.overheadMs / 1000);
    if (record.ttfbMs !== null) this.#firstByte.observe({ provider }, record.ttfbMs / 1000);
    for (const attempt of record.attempts) this.#attempts.inc({ provider: attempt.provider, outcome: attempt.outcome });
    if (record.usage !== null) {
      this.#tokens.inc({ provider, kind: "input" }, record.usage.inputTokens);
      this.#tokens.inc({ provider, kind: "output" }, record.usage.outputTokens);
    }
  }

  async text(): Promise<{ readonly contentType: string; readonly body: string }> {
    return { contentType: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}

function gauge(name: string, help: string, read: () => number, registry: Registry): void {
  new Gauge({
    name,
    help,
    registers: [registry],
    collect() {
      this.set(read());
    },
  });
}

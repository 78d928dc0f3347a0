import { isNodeProvider } from "../../domain/catalogue/node-catalogue.ts";
import type { AttemptRecord, RequestRecord } from "../../domain/record/record.ts";
import { memoize } from "../../kit/memoize.ts";
import {
  attemptModel,
  FIRST_TOKEN_BOUNDS,
  GENAI,
  GENAI_METRICS,
  SECOND_BOUNDS,
  TOKEN_BOUNDS,
} from "./genai-conventions.ts";
import { type EndpointLabels, endpointLabels, genaiLabel, providerLabels, routeLabels } from "./metric-labels.ts";
import { CounterSeries, HistogramSeries } from "./series.ts";

const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** Metrics of HTTP responses and finished requests. Label values come from closed lists, never from callers. */
export class RequestMetrics {
  readonly #http = new CounterSeries("gateway_http_requests_total", "HTTP responses, by route and status.");
  readonly #httpSeconds = new HistogramSeries(
    "gateway_http_request_seconds",
    "Duration of an HTTP request until the end of its response.",
    DURATION_BOUNDS,
  );
  readonly #requests = new CounterSeries(
    "gateway_inference_requests_total",
    "Inference requests finished, by surface, serving provider, status and error code.",
  );
  readonly #tokens = new CounterSeries("gateway_tokens_total", "Tokens used, by provider and kind.");
  readonly #firstByte = new HistogramSeries(
    "gateway_first_byte_seconds",
    "Time to the first byte of an inference response.",
    DURATION_BOUNDS,
  );
  readonly #overhead = new HistogramSeries(
    "gateway_overhead_seconds",
    "Time an inference request spent in the gateway itself.",
    [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 1],
  );
  readonly #attempts = new CounterSeries("gateway_attempts_total", "Attempts at provider endpoints, by outcome.");
  readonly #charged = new CounterSeries(
    "gateway_charged_total",
    "What requests were charged, in units of the currency, by provider and currency.",
  );
  readonly #genai = new GenAiMetrics();

  constructor() {
    this.#overhead.initialize("");
  }

  protected get requestSeries(): readonly (CounterSeries | HistogramSeries)[] {
    return [
      this.#http,
      this.#httpSeconds,
      this.#requests,
      this.#tokens,
      this.#charged,
      this.#firstByte,
      this.#overhead,
      this.#attempts,
    ];
  }

  protected get genaiSeries(): readonly HistogramSeries[] {
    return this.#genai.series;
  }

  recordHttpResponse(route: string, status: number, durationMs: number): void {
    const labels = routeLabels(route);
    this.#http.add(labels.with(status), 1);
    this.#httpSeconds.observe(labels.all, durationMs / 1000);
  }

  recordRequest(record: RequestRecord): void {
    const { surface, provider, status, errorCode, overheadMs, ttfbMs, attempts, usage, charge } = record;
    const labels = providerLabels(providerLabel(provider ?? "none"));
    this.#requests.add(labels.finished(surface)(status)(errorCode ?? "none"), 1);
    this.#overhead.observe("", overheadMs / 1000);
    if (ttfbMs !== null) this.#firstByte.observe(labels.all, ttfbMs / 1000);
    for (const attempt of attempts)
      this.#attempts.add(providerLabels(providerLabel(attempt.provider)).attempted(attempt.outcome), 1);
    if (usage !== null) {
      this.#tokens.add(labels.input, usage.inputTokens);
      this.#tokens.add(labels.output, usage.outputTokens);
    }
    if (charge !== null) this.#charged.add(labels.charged(charge.currency), Number(charge.nanos) / 1e9);
    this.#genai.recordRequest(record);
  }
}

/** Node names are free text of workspaces and unbounded, so all nodes share one label. */
export function providerLabel(provider: string): string {
  return isNodeProvider(provider) ? "node" : provider;
}

/** Metrics of the GenAI conventions. Label texts are built once for each surface and endpoint. */
class GenAiMetrics {
  readonly #tokens = new HistogramSeries(
    GENAI_METRICS.tokenUsage.prometheus,
    "Tokens of one request, by operation, provider, model and type.",
    TOKEN_BOUNDS,
  );
  readonly #duration = new HistogramSeries(
    GENAI_METRICS.duration.prometheus,
    "Duration of one attempt at a provider, by operation, provider, model and error.",
    SECOND_BOUNDS,
  );
  readonly #firstChunk = new HistogramSeries(
    GENAI_METRICS.firstChunk.prometheus,
    "Time from the request to a provider to the first byte of its stream.",
    SECOND_BOUNDS,
  );
  readonly #firstToken = new HistogramSeries(
    GENAI_METRICS.firstToken.prometheus,
    "Time from the arrival of a request to the first byte of its response.",
    FIRST_TOKEN_BOUNDS,
  );
  /** By surface and endpoint; bounded by the catalogue, because all nodes share one entry. */
  readonly #labels = memoize((_surface: string) => new Map<string, EndpointLabels>());

  get series(): readonly HistogramSeries[] {
    return [this.#tokens, this.#duration, this.#firstChunk, this.#firstToken];
  }

  recordRequest(record: RequestRecord): void {
    const { attempts, ttfbMs, usage, streaming, createdAtMs } = record;
    for (const attempt of attempts) {
      if (!wasSent(attempt)) continue;
      const labels = this.#labelsFor(record, attempt);
      const error = errorTypeOf(attempt);
      const base = error === undefined ? labels.base : `${labels.base},${genaiLabel(GENAI.errorType, error)}`;
      this.#duration.observe(base, attempt.durationMs / 1000);
      if (attempt.outcome !== "served") continue;
      if (usage !== null) {
        this.#tokens.observe(labels.input, usage.inputTokens);
        this.#tokens.observe(labels.output, usage.outputTokens);
      }
      if (ttfbMs === null) continue;
      this.#firstToken.observe(labels.base, ttfbMs / 1000);
      if (streaming)
        this.#firstChunk.observe(labels.base, Math.max(0, createdAtMs + ttfbMs - attempt.startedAtMs) / 1000);
    }
  }

  #labelsFor(record: RequestRecord, { provider, endpoint }: AttemptRecord): EndpointLabels {
    const isNode = isNodeProvider(provider);
    const name = isNode ? "node" : endpoint;
    const labels = this.#labels(record.surface);
    const cached = labels.get(name);
    if (cached !== undefined) return cached;
    // Names of nodes and their models are free text of workspaces and must not become labels.
    const created = isNode
      ? endpointLabels(record.surface, "node", "node")
      : endpointLabels(record.surface, provider, attemptModel(record, endpoint) ?? "unknown");
    labels.set(name, created);
    return created;
  }
}

/** False for an endpoint that was skipped: the record lists it as an attempt, too. */
export function wasSent({ durationMs, upstreamStatus, outcome }: AttemptRecord): boolean {
  return outcome === "served" || outcome === "cancelled" || durationMs > 0 || upstreamStatus !== null;
}

/** `error.type` of an attempt, from a closed list; undefined for a success. */
export function errorTypeOf({ outcome, upstreamStatus }: AttemptRecord): string | undefined {
  if (outcome === "served") return undefined;
  if (outcome === "cancelled") return "client_disconnected";
  if (upstreamStatus === null) return "no_answer";
  return upstreamStatus === 200 ? "broken_answer" : String(upstreamStatus);
}

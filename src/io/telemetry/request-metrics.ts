import type { AttemptRecord, RequestRecord } from "../../domain/record/record.ts";
import { isNodeProvider } from "../../domain/record/request-shape.ts";
import { DATA_CLASSES, UNINSPECTED } from "../../domain/tenancy/data-class-rules.ts";
import { memoize } from "../../kit/memoize.ts";
import { recordCacheUse } from "./cache-metrics.ts";
import { attemptModel, GENAI } from "./genai-conventions.ts";
import { type EndpointLabels, endpointLabels, genaiLabel, providerLabels, routeLabels } from "./metric-labels.ts";
import { createGenAiSeries, createRequestSeries } from "./request-series.ts";

const KNOWN_CLASSES: ReadonlySet<string> = new Set([...DATA_CLASSES, UNINSPECTED]);

/** Metrics of HTTP responses and finished requests. Label values come from closed lists, never from callers. */
export class RequestMetrics {
  protected readonly requestSeries = createRequestSeries();
  protected readonly genaiSeries = createGenAiSeries();
  /** By surface and endpoint; bounded by the catalogue, because all nodes share one entry. */
  readonly #labels = memoize((_surface: string) => new Map<string, EndpointLabels>());

  constructor() {
    this.requestSeries.overhead.initialize("");
  }

  recordHttpResponse(route: string, status: number, durationMs: number): void {
    const labels = routeLabels(route);
    this.requestSeries.http.add(labels.with(status), 1);
    this.requestSeries.httpSeconds.observe(labels.all, durationMs / 1000);
  }

  recordRequest(record: RequestRecord): void {
    const { surface, provider, status, errorCode, overheadMs, ttfbMs, attempts, usage, charge } = record;
    const labels = providerLabels(providerLabel(provider ?? "none"));
    this.requestSeries.requests.add(labels.finished(surface)(status)(errorCode ?? "none"), 1);
    this.requestSeries.overhead.observe("", overheadMs / 1000);
    if (ttfbMs !== null) this.requestSeries.firstByte.observe(labels.all, ttfbMs / 1000);
    for (const attempt of attempts)
      this.requestSeries.attempts.add(providerLabels(providerLabel(attempt.provider)).attempted(attempt.outcome), 1);
    if (usage !== null) {
      this.requestSeries.tokens.add(labels.input, usage.inputTokens);
      this.requestSeries.tokens.add(labels.output, usage.outputTokens);
    }
    if (record.dataClasses !== undefined) this.#recordDataClasses(record.dataClasses, record.dataAction);
    if (record.detail !== undefined) recordCacheUse(this.requestSeries, record.detail);
    if (charge !== null) this.requestSeries.charged.add(labels.charged(charge.currency), Number(charge.nanos) / 1e9);
    this.#recordAttempts(record);
  }

  /** Names of classes that workspaces define must not become labels; a request counts once for all of them. */
  #recordDataClasses(classes: string, action = "unserved"): void {
    const labels = classes.split(",").map((name) => (KNOWN_CLASSES.has(name) ? name : "custom"));
    for (const name of new Set(labels)) this.requestSeries.dataClasses.add(`class="${name}",action="${action}"`, 1);
  }

  /** Metrics of the GenAI conventions. */
  #recordAttempts(record: RequestRecord): void {
    const { attempts, ttfbMs, usage, streaming, createdAtMs } = record;
    for (const attempt of attempts) {
      if (!wasSent(attempt)) continue;
      const labels = this.#labelsFor(record, attempt);
      const error = errorTypeOf(attempt);
      const base = error === undefined ? labels.base : `${labels.base},${genaiLabel(GENAI.errorType, error)}`;
      this.genaiSeries.duration.observe(base, attempt.durationMs / 1000);
      if (attempt.outcome !== "served") continue;
      if (usage !== null) {
        this.genaiSeries.tokens.observe(labels.input, usage.inputTokens);
        this.genaiSeries.tokens.observe(labels.output, usage.outputTokens);
      }
      if (ttfbMs === null) continue;
      this.genaiSeries.firstToken.observe(labels.base, ttfbMs / 1000);
      if (streaming)
        this.genaiSeries.firstChunk.observe(
          labels.base,
          Math.max(0, createdAtMs + ttfbMs - attempt.startedAtMs) / 1000,
        );
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

/** Node names are free text of workspaces and unbounded, so all nodes share one label. */
export function providerLabel(provider: string): string {
  return isNodeProvider(provider) ? "node" : provider;
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

import { isNodeProvider } from "../../domain/catalogue/node-catalogue.ts";
import type { AttemptRecord, RequestRecord } from "../../domain/record/record.ts";
import { memoize } from "../../kit/memoize.ts";
import {
  attemptModel,
  conventionalProviderName,
  errorTypeOf,
  FIRST_TOKEN_BOUNDS,
  GENAI,
  GENAI_METRICS,
  operationName,
  prometheusLabelName,
  SECOND_BOUNDS,
  TOKEN_BOUNDS,
  wasSent,
} from "./genai-conventions.ts";
import { HistogramSeries } from "./series.ts";

type EndpointLabels = { readonly base: string; readonly input: string; readonly output: string };

const label = (attribute: string, value: string) => `${prometheusLabelName(attribute)}="${value}"`;

/** Metrics of the GenAI conventions. Label texts are built once for each surface and endpoint. */
export class GenAiMetrics {
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
      const base = error === undefined ? labels.base : `${labels.base},${label(GENAI.errorType, error)}`;
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
    const [providerLabel, model] = isNode ? ["node", "node"] : [provider, attemptModel(record, endpoint) ?? "unknown"];
    const base = [
      label(GENAI.operation, operationName(record.surface)),
      label(GENAI.provider, conventionalProviderName(providerLabel)),
      label(GENAI.requestModel, model),
    ].join(",");
    const created = {
      base,
      input: `${base},${label(GENAI.tokenType, "input")}`,
      output: `${base},${label(GENAI.tokenType, "output")}`,
    };
    labels.set(name, created);
    return created;
  }
}

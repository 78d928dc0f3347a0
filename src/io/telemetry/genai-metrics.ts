import { isNodeProvider } from "../../domain/catalogue/node-rows.ts";
import type { AttemptRecord, RequestRecord } from "../../domain/record/record.ts";
import { memoize } from "../../kit/memoize.ts";
import {
  errorTypeOf,
  FIRST_TOKEN_BOUNDS,
  GENAI,
  GENAI_METRICS,
  labelNameOf,
  modelAt,
  operationOf,
  providerNameOf,
  SECOND_BOUNDS,
  TOKEN_BOUNDS,
  wasAsked,
} from "./genai.ts";
import { Timings } from "./series.ts";

type Labels = { readonly base: string; readonly input: string; readonly output: string };

const label = (attribute: string, value: string) => `${labelNameOf(attribute)}="${value}"`;

/** Metrics by the names of OpenTelemetry's conventions. The texts of their labels are made once for each endpoint. */
export class GenAiMetrics {
  readonly #tokens = new Timings(
    GENAI_METRICS.tokenUsage.prometheus,
    "Tokens of one request, by operation, provider, model and type.",
    TOKEN_BOUNDS,
  );
  readonly #duration = new Timings(
    GENAI_METRICS.duration.prometheus,
    "How long a provider took for one attempt, by operation, provider, model and error.",
    SECOND_BOUNDS,
  );
  readonly #firstChunk = new Timings(
    GENAI_METRICS.firstChunk.prometheus,
    "From the moment a provider was asked to the first byte of its stream.",
    SECOND_BOUNDS,
  );
  readonly #firstToken = new Timings(
    GENAI_METRICS.firstToken.prometheus,
    "From a request's arrival to the first byte of its answer.",
    FIRST_TOKEN_BOUNDS,
  );
  /** By surface and endpoint, so bounded by the catalogue: all nodes are one. */
  readonly #labels = memoize((_surface: string) => new Map<string, Labels>());

  get series(): readonly Timings[] {
    return [this.#tokens, this.#duration, this.#firstChunk, this.#firstToken];
  }

  finished(record: RequestRecord): void {
    const { attempts, ttfbMs, usage, streaming, createdAtMs } = record;
    for (const attempt of attempts) {
      if (!wasAsked(attempt)) continue;
      const labels = this.#labelsOf(record, attempt);
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

  #labelsOf(record: RequestRecord, { provider, endpoint }: AttemptRecord): Labels {
    const isNode = isNodeProvider(provider);
    const name = isNode ? "node" : endpoint;
    const labels = this.#labels(record.surface);
    const known = labels.get(name);
    if (known !== undefined) return known;
    // Names of nodes and of what they serve are their workspaces' own words.
    const [who, model] = isNode ? ["node", "node"] : [provider, modelAt(record, endpoint) ?? "unknown"];
    const base = [
      label(GENAI.operation, operationOf(record.surface)),
      label(GENAI.provider, providerNameOf(who)),
      label(GENAI.requestModel, model),
    ].join(",");
    const made = {
      base,
      input: `${base},${label(GENAI.tokenType, "input")}`,
      output: `${base},${label(GENAI.tokenType, "output")}`,
    };
    labels.set(name, made);
    return made;
  }
}

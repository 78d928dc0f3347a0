import { FIRST_TOKEN_BOUNDS, GENAI_METRICS, SECOND_BOUNDS, TOKEN_BOUNDS } from "./genai-conventions.ts";
import { CounterSeries, HistogramSeries } from "./series.ts";

const DURATION_BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];

/** In the order in which they are rendered. */
export function createRequestSeries() {
  return {
    http: new CounterSeries("gateway_http_requests_total", "HTTP responses, by route and status."),
    httpSeconds: new HistogramSeries(
      "gateway_http_request_seconds",
      "Duration of an HTTP request until the end of its response.",
      DURATION_BOUNDS,
    ),
    requests: new CounterSeries(
      "gateway_inference_requests_total",
      "Inference requests finished, by surface, serving provider, status and error code.",
    ),
    tokens: new CounterSeries("gateway_tokens_total", "Tokens used, by provider and kind."),
    charged: new CounterSeries(
      "gateway_charged_total",
      "What requests were charged, in units of the currency, by provider and currency.",
    ),
    dataClasses: new CounterSeries(
      "gateway_data_class_requests_total",
      "Inspected requests that contain data of a class, by class and what was done to it.",
    ),
    cacheRequests: new CounterSeries(
      "gateway_cache_requests_total",
      "Requests whose policy or body sets a lifetime for the response cache, by what the cache did: hit, miss or bypass.",
    ),
    cacheSaved: new CounterSeries(
      "gateway_cache_saved_total",
      "What hits of the response cache would have cost, in units of the currency, by currency.",
    ),
    firstByte: new HistogramSeries(
      "gateway_first_byte_seconds",
      "Time to the first byte of an inference response.",
      DURATION_BOUNDS,
    ),
    overhead: new HistogramSeries(
      "gateway_overhead_seconds",
      "Time an inference request spent in the gateway itself.",
      [0.0005, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 1],
    ),
    attempts: new CounterSeries("gateway_attempts_total", "Attempts at provider endpoints, by outcome."),
  };
}

/** Metrics of the GenAI conventions. */
export function createGenAiSeries() {
  return {
    tokens: new HistogramSeries(
      GENAI_METRICS.tokenUsage.prometheus,
      "Tokens of one request, by operation, provider, model and type.",
      TOKEN_BOUNDS,
    ),
    duration: new HistogramSeries(
      GENAI_METRICS.duration.prometheus,
      "Duration of one attempt at a provider, by operation, provider, model and error.",
      SECOND_BOUNDS,
    ),
    firstChunk: new HistogramSeries(
      GENAI_METRICS.firstChunk.prometheus,
      "Time from the request to a provider to the first byte of its stream.",
      SECOND_BOUNDS,
    ),
    firstToken: new HistogramSeries(
      GENAI_METRICS.firstToken.prometheus,
      "Time from the arrival of a request to the first byte of its response.",
      FIRST_TOKEN_BOUNDS,
    ),
  };
}

import type { Route } from "../route.ts";
import { RequestCost } from "../schemas/requests.ts";

export const REQUEST_ROUTES: readonly Route[] = [
  {
    id: "getRequest",
    method: "GET",
    path: "/v1/requests/{id}",
    access: { by: "key", scope: null },
    intake: "none",
    counted: true,
    tag: "Requests",
    summary: "Show the outcome and cost of a request",
    description:
      "`id` is the X-Svc-Request-Id of a completed response. A workspace key can read all requests of its workspace, a personal key only those of its member; every other id responds with 404. Free of charge; returns no content.",
    answer: { is: "json", status: 200, schema: RequestCost },
    faults: ["insufficient_scope"],
    example: {
      answer: {
        id: "chatcmpl-019a864f0b2c7f3a8e21d04c5b6a798b",
        object: "request",
        created_at: "2026-11-15T09:30:00.000Z",
        environment: "live",
        surface: "chat",
        model_requested: "sandbox/chat",
        model: "sandbox/chat",
        provider: "sandbox-de",
        level: "L2",
        countries: ["DE"],
        router: null,
        streaming: false,
        status: 200,
        error_code: null,
        usage: {
          input_tokens: 12,
          cached_tokens: 0,
          cache_write_tokens: 0,
          output_tokens: 8,
          reasoning_tokens: 0,
          characters: null,
          search_units: null,
          seconds: null,
          estimated: false,
        },
        cost: "0.0000125",
        currency: "EUR",
        attempts: 1,
        ttfb_ms: 21,
        total_ms: 24,
        overhead_ms: 1,
      },
    },
  },
];

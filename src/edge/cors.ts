import type { InboundHttpRequest } from "../http1/server/fast-path-connection.ts";

/** Browser origins that may read responses; empty: none. */
export type CorsPolicy = { readonly origins: readonly string[] };

export const EXPOSED_HEADERS =
  "x-svc-request-id, x-request-id, request-id, x-svc-model, x-svc-provider, x-svc-sovereignty-level, x-svc-compute-countries, x-svc-compute-country, x-svc-input-characters, x-svc-route-reason, x-svc-router, x-svc-upstream-surface, x-svc-reasoning-effort, x-svc-reasoning-chosen-by, x-svc-served-by, x-svc-node-id, x-svc-overhead-ms, x-svc-omitted, x-svc-data-classes, x-svc-data-action, x-svc-cache, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset, retry-after, x-should-retry, idempotent-replayed";

export function corsHeaders(request: InboundHttpRequest, policy: CorsPolicy): Record<string, string> {
  const { origin } = request.headers;
  if (origin === undefined || policy.origins.length === 0) return {};
  const allowsAny = policy.origins.includes("*");
  if (!allowsAny && !policy.origins.includes(origin)) return {};
  const headers: Record<string, string> = {
    "access-control-allow-origin": allowsAny ? "*" : origin,
    "access-control-expose-headers": EXPOSED_HEADERS,
    vary: "origin",
  };
  if (isPreflight(request)) {
    headers["access-control-allow-methods"] = "GET, POST, DELETE, OPTIONS";
    headers["access-control-allow-headers"] =
      request.headers["access-control-request-headers"] ?? "authorization, content-type";
    headers["access-control-max-age"] = "600";
  }
  return headers;
}

export function isPreflight(request: InboundHttpRequest): boolean {
  return (
    request.method === "OPTIONS" &&
    request.headers["access-control-request-method"] !== undefined &&
    request.headers.origin !== undefined
  );
}

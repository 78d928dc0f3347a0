import type { Route } from "../contract/route.ts";
import { rateLimitBucket } from "../kit/cidr.ts";
import type { Clock } from "../kit/clock.ts";
import { RateLimiter } from "../kit/rate-limiter.ts";
import { forwardedAddress } from "./client-address.ts";
import { corsHeaders, isPreflight } from "./cors.ts";
import type { AddressLimit, EdgeDeps } from "./edge-deps.ts";
import type { EdgeExchange } from "./edge-exchange.ts";
import { addressRateLimitFault, errorShapeAt, methodFault, missingHostFault, unknownPathFault } from "./edge-faults.ts";
import { geminiPath, takeKeyFromQuery } from "./gemini-requests.ts";
import { type RouteLookup, type RouteMatch, RouteTable } from "./route-table.ts";

const PRIVATE_HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff" } as const;

/** Exempt from the address limit: a shared address would otherwise make the gateway look unhealthy. */
const HEALTH_PROBES: ReadonlySet<string> = new Set(["getHealth", "getReadiness"]);

/** The response id is the request id, with the prefix that the dialect uses. */
const ID_PREFIXES: Readonly<Record<string, string>> = {
  createChatCompletion: "chatcmpl-",
  createMessage: "msg_",
  createResponse: "resp_",
  createDecision: "dec_",
  createOpenaiDecision: "dec_",
};

/** Before authentication: finds the route, assigns the request id and the base headers, and limits the client address. */
export class RequestRouter {
  readonly #deps: EdgeDeps;
  readonly #listener: { readonly isDraining: boolean };
  readonly #routeTable: RouteTable;

  constructor(deps: EdgeDeps, listener: { readonly isDraining: boolean }) {
    this.#deps = deps;
    this.#listener = listener;
    this.#routeTable = new RouteTable(deps.routes);
  }

  route(exchange: EdgeExchange): RouteMatch | "preflight" {
    const { request, connection } = exchange;
    const { method = "GET" } = request;
    const url = originForm(request.url ?? "/");
    const mark = url.indexOf("?");
    const sentPath = mark < 0 ? url : url.slice(0, mark);
    const path = sentPath.includes("/models") ? geminiPath(sentPath, request) : sentPath;
    const lookup = findRoute(this.#routeTable, method, path);
    this.#identify(exchange, lookup.is === "found" ? lookup.match.route : undefined, path);
    exchange.query = mark < 0 ? "" : url.slice(mark + 1);
    if (mark >= 0 && exchange.errorShape === "gemini") takeKeyFromQuery(exchange, sentPath);
    const forwarded = request.headers["x-forwarded-for"];
    exchange.clientAddress =
      forwarded === undefined ? connection.peer : forwardedAddress(String(forwarded), connection.peer, this.#deps);
    const isProbe = lookup.is === "found" && HEALTH_PROBES.has(lookup.match.route.id);
    const waitSeconds = isProbe ? undefined : this.#deps.addressLimit.consume(exchange.clientAddress);
    if (request.headers.host === undefined && request.httpVersion === "1.1") throw missingHostFault();
    if (method === "OPTIONS" && lookup.is !== "unknown" && isPreflight(request)) return "preflight";
    if (lookup.is === "unknown") throw unknownPathFault(method, path);
    if (lookup.is === "wrong_method") throw methodFault(request, path, lookup.allow);
    if (waitSeconds !== undefined) throw addressRateLimitFault(waitSeconds);
    return lookup.match;
  }

  #identify(exchange: EdgeExchange, route: Route | undefined, path: string): void {
    exchange.requestId = this.#deps.ids.next(ID_PREFIXES[route?.id ?? ""] ?? "req_");
    exchange.routeId = route?.id ?? "unknown";
    exchange.errorShape = route === undefined ? errorShapeAt(path) : route.errors;
    const { baseHeaders, requestId } = exchange;
    baseHeaders["x-svc-request-id"] = requestId;
    baseHeaders["x-request-id"] = requestId;
    baseHeaders["request-id"] = requestId;
    if (this.#listener.isDraining) baseHeaders["connection"] = "close";
    if (isManagementPath(path)) Object.assign(baseHeaders, PRIVATE_HEADERS);
    else if (exchange.request.headers.origin !== undefined)
      Object.assign(baseHeaders, corsHeaders(exchange.request, this.#deps.cors));
    // Shared caches do not know that `x-api-key` is a credential.
    if (route?.method === "GET" && route.access.by === "key") baseHeaders["cache-control"] = "no-store";
  }
}

/** Management responses never get CORS headers. */
export function isManagementPath(path: string): boolean {
  return path === "/manage" || path.startsWith("/manage/");
}

/** Reduces the absolute form of a request target, which proxies send, to path and query. */
export function originForm(url: string): string {
  return url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, "") || "/";
}

/** Finds fixed paths in a map, and paths with parameters by their patterns. */
export function findRoute(table: RouteTable, method: string, path: string): RouteLookup {
  const lookedUpMethod = method === "HEAD" ? "GET" : method;
  const normalized = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  return table.fixed.get(normalized)?.get(lookedUpMethod) ?? table.findByPattern(lookedUpMethod, normalized);
}

/** Limits each client address (an IPv6 network counts as one) before anything of the request is parsed. */
export class AddressRateLimiter implements AddressLimit {
  readonly #limiter: RateLimiter;

  constructor(perMinute: number, clock: Clock) {
    this.#limiter = new RateLimiter(perMinute, clock);
  }

  consume(address: string): number | undefined {
    return this.#limiter.perMinute === 0 ? undefined : this.#limiter.consume(rateLimitBucket(address));
  }
}

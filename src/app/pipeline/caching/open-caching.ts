import { invalidValue } from "../../../contract/faults.ts";
import type { Surface } from "../../../domain/record/record.ts";
import type { CacheSlot } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { Policy } from "../../../domain/tenancy/policy.ts";
import { IDEMPOTENCY_KEY_HEADER } from "../idempotent-replay.ts";
import type { RequestTrace } from "../record.ts";
import { awaitLeader } from "./await-leader.ts";
import { cacheSlotFor, resolvedModel } from "./cache-identity.ts";
import type { CacheableRequest } from "./cacheable-request.ts";
import { ReplyRecorder } from "./reply-recorder.ts";
import { serveCached } from "./serve-cached.ts";

const SURFACES: ReadonlySet<Surface> = new Set(["chat", "messages", "responses", "gemini", "embeddings", "rerank"]);

/**
 * Serves the request from the cache. Otherwise returns what records its reply, or undefined when this request neither uses
 * the cache nor fills it.
 */
export async function openCaching(request: CacheableRequest): Promise<"served" | ReplyRecorder | undefined> {
  const { gateway, trace, plan, cacheRule, currentPolicy } = request;
  const policy = currentPolicy();
  if (!SURFACES.has(trace.surface) || policy === undefined) return undefined;
  requirePermission(request, policy);
  const { ttlSeconds = 0 } = cacheRule;
  if (ttlSeconds === 0) return undefined;
  const cache = gateway.responseCache;
  const bypass = cache === undefined ? "off" : bypassReason(request, policy, cache);
  const slot = bypass === undefined && cache !== undefined ? await cacheSlotFor(cache, request, policy) : undefined;
  if (cache === undefined || slot === undefined) {
    setStatus(trace, "bypass", `reason=${bypass ?? "body"}`);
    return undefined;
  }
  const ttlMs = Math.min(ttlSeconds * 1000, cache.limits.ttlMs);
  const serve = () => serveFrom(cache, slot, request, ttlMs);
  if (await serve()) return "served";
  const leading =
    cacheRule.coalesce === true ? await awaitLeader({ gateway, cache, slot, sink: request.sink, serve }) : undefined;
  if (leading === "served") return "served";
  setStatus(trace, "miss");
  return new ReplyRecorder(gateway, cache, { slot, ttlMs, model: resolvedModel(plan), endLead: leading });
}

/** For the header and the log. */
function setStatus(trace: RequestTrace, status: "bypass" | "miss", reason?: string): void {
  trace.cacheStatus = reason === undefined ? status : `${status}; ${reason}`;
  trace.detail = { ...trace.detail, cache: { status } };
}

async function serveFrom(
  cache: ReplyCache,
  slot: CacheSlot,
  request: CacheableRequest,
  ttlMs: number,
): Promise<boolean> {
  const { gateway, trace, exchange } = request;
  const reply = await cache.find(slot);
  gateway.recheckKey(exchange);
  const ageMs = reply === undefined ? 0 : Math.max(0, gateway.clock.nowMs() - reply.createdAtMs);
  if (reply === undefined || ageMs >= ttlMs) return false;
  trace.cacheStatus = `hit; age=${Math.floor(ageMs / 1000)}`;
  return (await serveCached(request, reply, ageMs)) === "served";
}

/** A request that chooses the cache itself is refused where that is forbidden, like one with `store: true`. */
function requirePermission({ cacheRule, decoded }: CacheableRequest, policy: Policy): void {
  const wish = decoded.request.outline.routingHints?.cache;
  if (wish === undefined || wish.ttlSeconds === 0) return;
  if (cacheRule.requests === "forbid")
    throw invalidValue(
      "cache",
      "must be omitted: this workspace does not let requests choose whether their replies are cached. An admin changes this in the policy",
    );
  if (policy.zeroDataRetention)
    throw invalidValue("cache", "must be omitted under zero data retention, which keeps no content");
  if (cacheRule.ttlSeconds === undefined)
    throw invalidValue("cache.ttl", "must be set, in seconds: neither the policy nor the router sets one");
}

function bypassReason(request: CacheableRequest, policy: Policy, { limits }: ReplyCache): string | undefined {
  const { decoded, exchange, body } = request;
  if (policy.zeroDataRetention) return "zero-data-retention";
  if (exchange.headers[IDEMPOTENCY_KEY_HEADER] !== undefined) return "idempotency-key";
  if (decoded.onAdmitted !== undefined) return "background";
  if (decoded.storeResponse !== undefined) return "store";
  if (decoded.request.referencesProviderState()) return "provider-state";
  return body.length > limits.replyBytes ? "size" : undefined;
}

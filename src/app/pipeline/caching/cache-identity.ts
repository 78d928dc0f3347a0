import type { CacheSlot } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { Policy } from "../../../domain/tenancy/policy.ts";
import type { CacheableRequest } from "./cacheable-request.ts";
import { canonicalBody } from "./canonical-body.ts";

/** Changes when replies are recorded or told apart in another way. */
const IDENTITY_VERSION = 1;
/** For the gateway itself; they do not change a reply. */
const NOT_COMPARED: ReadonlySet<string> = new Set(["cache", "session_id"]);
/** They change what the provider receives. */
const COMPARED_HEADERS = ["anthropic-version", "anthropic-beta"] as const;

/**
 * Where the reply to a request is found: all that must be equal for a reply to serve another request of the workspace.
 * Undefined: the body is no JSON object.
 */
export async function cacheSlotFor(
  cache: Pick<ReplyCache, "slotFor">,
  { body, trace, exchange, plan, decoded }: CacheableRequest,
  policy: Policy,
): Promise<CacheSlot | undefined> {
  const call = canonicalBody(body.toString("utf8"), NOT_COMPARED);
  if (call === undefined) return undefined;
  const { cache: _, ...rules } = policy;
  const { outline, streaming } = decoded.request;
  const identity = [
    IDENTITY_VERSION,
    exchange.route.id,
    streaming,
    outline.model,
    resolvedModel(plan),
    plan.router,
    plan.effort,
    rules,
    COMPARED_HEADERS.map((name) => exchange.headers[name] ?? null),
  ];
  return cache.slotFor(trace.principal.workspace.id, `${JSON.stringify(identity)}\n${call}`);
}

/** The model that the request would get now. */
export function resolvedModel({ attempts: [first] }: CacheableRequest["plan"]): string | undefined {
  return first?.endpoint.model;
}

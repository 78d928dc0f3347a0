import { Fault, fault } from "../../contract/faults.ts";
import type { QueueRejection } from "../../domain/admission/admission-queue.ts";
import type { HoldRequest, HoldVerdict } from "../../domain/admission/shared-state.ts";
import { holdFor } from "../../domain/billing/charge.ts";
import { isExtraPriced } from "../../domain/catalogue/catalogue.ts";
import type { Surface } from "../../domain/record/record.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { formatNanos } from "../../kit/money.ts";
import type { Exchange, ResponseSink } from "../exchange.ts";
import type { DecodedRequest } from "./decode.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { type InferenceRequest, replyHeadFor } from "./inference-request.ts";
import type { PlannedRequest } from "./plan.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Safety margin on estimated input tokens. */
const MARGIN_SHARE = 0.3;
const MARGIN_TOKENS = 64;

export type AdmissionDeps = Pick<GatewayDeps, "limits" | "journal" | "state" | "spenderOf">;

/** A planned request with its hold and its slot in the queue; its hold must be settled exactly once. */
export type AdmittedRequest = Pick<PlannedRequest, "currentPolicy" | "changedRouter"> & {
  readonly gateway: GatewayDeps;
  readonly trace: RequestTrace;
  readonly exchange: Exchange;
  readonly sink: ResponseSink;
  readonly decoded: DecodedRequest;
  readonly plan: Plan;
  /** On the monotonic clock. */
  readonly deadlineMs: number;
};

/** The hold that one attempt needs. */
export function holdAmountFor(
  gateway: AdmissionDeps,
  trace: RequestTrace,
  attempt: Attempt,
  request: Pick<InferenceRequest, "usageBoundAt">,
): bigint {
  // Own keys and nodes are not paid from the wallet.
  if (isOwnResource(attempt)) return 0n;
  const bound = request.usageBoundAt(attempt, gateway.limits);
  const { characters, seconds, cacheTtl, prompts } = bound;
  const inputTokens = Math.ceil(bound.inputTokens * (1 + MARGIN_SHARE)) + MARGIN_TOKENS;
  const { currencies, margin } = trace.terms;
  const { currency } = trace.principal.workspace;
  // Optional extras without a price are not sent to the endpoint.
  const extras = trace.terms.extras?.filter(
    ({ toolIndex, name }) => toolIndex === undefined || isExtraPriced(attempt.price, name),
  );
  return holdFor(inputTokens, bound.outputTokens, attempt.price, currencies, currency, {
    characters,
    seconds,
    cacheTtl,
    prompts,
    margin,
    extras,
  });
}

/**
 * The admit stage: holds the cost of the most expensive planned attempt against the wallet and every spend limit, in one
 * atomic step. A refusal costs no upstream call.
 */
export function admit(
  gateway: AdmissionDeps,
  trace: RequestTrace,
  plan: Pick<Plan, "attempts">,
  request: Pick<InferenceRequest, "usageBoundAt">,
): MaybePromise<void> {
  if (gateway.journal.isBroken) {
    throw fault("service_unavailable", {
      message: "The gateway cannot write its journal and takes no paid work until it can. Try again shortly.",
      headers: { "retry-after": "5" },
    });
  }
  const { workspace, member } = trace.principal;
  let nanos = 0n;
  // Attempts beyond the limit never run: the plan of `auto` can end with expensive models.
  const attempts = plan.attempts.slice(0, gateway.limits.attemptsMax);
  if (attempts.every(isOwnResource)) return;
  for (const attempt of attempts) {
    const needed = holdAmountFor(gateway, trace, attempt, request);
    if (needed > nanos) nanos = needed;
  }
  const { keyId, limits } = gateway.spenderOf(trace.principal);
  const { requestId, createdAtMs: atMs } = trace;
  const hold: HoldRequest = {
    requestId,
    workspaceId: workspace.id,
    keyId,
    memberId: member?.id ?? null,
    nanos,
    atMs,
    limits,
  };
  return chain(gateway.state.hold(hold), (verdict) => {
    if (verdict.is === "held") trace.heldNanos = nanos;
    else {
      trace.holdRefusal = holdRefusalFault(verdict, trace);
      if (!plan.attempts.some(isOwnResource)) throw trace.holdRefusal;
    }
  });
}

/** Waits for a free slot; `left`: the client disconnected first. Throws when the queue is full or the wait times out. */
export async function waitForSlot(
  gateway: GatewayDeps,
  trace: RequestTrace,
  sink: ResponseSink,
): Promise<"served" | "left"> {
  const { clock, queue } = gateway;
  const sinceMs = clock.monotonicMs();
  const entry = queue.enqueue(trace.principal.workspace.id);
  sink.onDisconnect(() => entry.cancel());
  const end = await entry.admission;
  if (end === "served" || end === "left") return end;
  gateway.onNotice({ is: "queue_rejected", why: end });
  throw queueFault(end, Math.round(clock.monotonicMs() - sinceMs), gateway.limits.queueWaitMs);
}

function queueFault(end: Exclude<QueueRejection, "left">, waitedMs: number, waitMs: number): Fault {
  const seconds = Math.max(1, Math.ceil(waitMs / 1000));
  const what =
    end === "full"
      ? "The gateway serves as many requests as it may, and its queue is full."
      : `The gateway serves as many requests as it may, and no place came free in ${waitedMs} ms.`;
  return fault("rate_limit_exceeded", {
    message: `${what} Try again in ${seconds} s.`,
    headers: { "retry-after": String(seconds) },
  });
}

/** The encoding fault of a request that no planned endpoint can encode; undefined when one can. */
export function firstEncodingError(
  exchange: Exchange,
  trace: RequestTrace,
  { request, plan }: { readonly request: InferenceRequest; readonly plan: Plan },
): Fault | undefined {
  let first: Fault | undefined;
  for (const attempt of plan.attempts) {
    try {
      const { adapter } = request.adapterFor(attempt, plan, replyHeadFor(exchange, trace, request, attempt));
      if (adapter.subRequests === undefined) adapter.encode();
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) return undefined;
      first ??= error;
    }
  }
  return first;
}

type HoldRejection = Exclude<HoldVerdict, { is: "held" }>;

/** How a caller can lower the hold. */
const REDUCTION_HINTS: Readonly<Record<Surface, string>> = {
  chat: "ask for fewer tokens with max_tokens",
  messages: "ask for fewer tokens with max_tokens",
  responses: "ask for fewer tokens with max_output_tokens",
  embeddings: "send fewer or shorter inputs",
  transcriptions: "send a shorter recording",
  speech: "send a shorter text",
  decisions: "ask fewer questions or send a shorter state",
};

function holdRefusalFault(verdict: HoldRejection, trace: RequestTrace): Fault {
  const message =
    verdict.is === "insufficient_credits"
      ? insufficientCreditsMessage(verdict, trace)
      : spendLimitMessage(verdict, trace);
  // A retry fails the same way until the wallet is topped up or the period of the limit ends.
  return fault(verdict.is, { message, headers: { "x-should-retry": "false" } });
}

function insufficientCreditsMessage(
  verdict: Extract<HoldRejection, { is: "insufficient_credits" }>,
  trace: RequestTrace,
): string {
  const { workspace } = trace.principal;
  const needed = formatNanos(verdict.neededNanos);
  const available = formatNanos(verdict.availableNanos);
  return `This request reserves ${needed} ${workspace.currency}, and the wallet of workspace ${workspace.slug} has ${available} ${workspace.currency} available. Top up the wallet, or ${REDUCTION_HINTS[trace.surface]}.`;
}

const PERIOD = { day: "daily", month: "monthly" } as const;

function spendLimitMessage(
  verdict: Extract<HoldRejection, { is: "spend_limit_reached" }>,
  { principal, surface }: RequestTrace,
): string {
  const { limit, spentNanos, heldNanos, neededNanos, resetsAtMs } = verdict;
  const { currency } = principal.workspace;
  const amount = (nanos: bigint) => `${formatNanos(nanos)} ${currency}`;
  const running = heldNanos === 0n ? "" : `, ${amount(heldNanos)} are reserved by running requests`;
  return `The ${PERIOD[limit.per]} spend limit of ${spenderName(limit.of, principal)} is ${amount(limit.nanos)}: ${amount(spentNanos)} are spent${running}, and this request reserves ${amount(neededNanos)}. The limit resets at ${new Date(resetsAtMs).toISOString()}. Have the limit raised, or ${REDUCTION_HINTS[surface]}.`;
}

function spenderName(of: SpenderKind, { workspace, key, member }: Principal): string {
  if (of === "workspace") return `workspace ${workspace.slug}`;
  return of === "key" ? `key "${key.name}" (${key.id})` : `member ${member?.email ?? ""}`;
}

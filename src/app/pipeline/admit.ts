import type { HoldRequest } from "../../domain/admission/shared-state.ts";
import { holdFor } from "../../domain/billing/charge.ts";
import { isExtraPriced } from "../../domain/catalogue/catalogue.ts";
import { isOwnResource, type Plan } from "../../domain/routing/plan.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { holdRefusalFault } from "./hold-refusal.ts";
import type { InferenceRequest } from "./inference-request.ts";
import { journalFault } from "./journal-fault.ts";
import type { RequestTrace } from "./record.ts";

/** Safety margin on estimated input tokens. */
const MARGIN_SHARE = 0.3;
const MARGIN_TOKENS = 64;
/** A marker or stand-in may be longer than what it replaces. */
const REPLACEMENT_TOKENS = 16;

export type AdmissionDeps = Pick<GatewayDeps, "limits" | "journal" | "state" | "spenderOf" | "onSpendLimitReached">;

/** The hold that one attempt needs. */
export function holdAmountFor(
  gateway: AdmissionDeps,
  trace: RequestTrace,
  attempt: Attempt,
  request: Pick<InferenceRequest, "usageBoundAt">,
): bigint {
  // Own keys and nodes are not paid from the wallet.
  if (isOwnResource(attempt)) return 0n;
  const { inputTokens: expected, outputTokens, ...units } = request.usageBoundAt(attempt, gateway.limits);
  const replaced = trace.dataClasses === undefined ? 0 : Object.values(trace.dataClasses).reduce((a, b) => a + b, 0);
  const inputTokens = Math.ceil(expected * (1 + MARGIN_SHARE)) + MARGIN_TOKENS + replaced * REPLACEMENT_TOKENS;
  const { currencies, margin } = trace.terms;
  const { currency } = trace.principal.workspace;
  // Optional extras without a price are not sent to the endpoint.
  const extras = trace.terms.extras?.filter(
    ({ toolIndex, name }) => toolIndex === undefined || isExtraPriced(attempt.price, name),
  );
  return holdFor(inputTokens, outputTokens, attempt.price, currencies, currency, { ...units, margin, extras });
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
  if (gateway.journal.isBroken || gateway.journal.isBehind) throw journalFault(gateway.journal);
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
      if (verdict.is === "spend_limit_reached") gateway.onSpendLimitReached?.(hold, verdict.limit);
      trace.holdRefusal = holdRefusalFault(verdict, trace);
      if (!plan.attempts.some(isOwnResource)) throw trace.holdRefusal;
    }
  });
}

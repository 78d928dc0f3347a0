import { type Fault, fault } from "../../contract/faults.ts";
import type { HoldVerdict } from "../../domain/admission/shared-state.ts";
import { holdFor } from "../../domain/billing/charge.ts";
import type { Surface } from "../../domain/record/record.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { formatNanos } from "../../kit/money.ts";
import { billedExtras } from "./extras.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { InferenceRequest } from "./inference-request.ts";
import type { RequestTrace } from "./request-trace.ts";

/** Token estimates can be low; the hold adds this share and a little more. */
const MARGIN_SHARE = 0.3;
const MARGIN_TOKENS = 64;

/** What admission needs of everything the request path is given. */
export type AdmissionDeps = Pick<GatewayDeps, "limits" | "journal" | "state" | "spenderOf">;

/** What is reserved for one attempt. */
export function holdAmountFor(
  gateway: AdmissionDeps,
  trail: RequestTrace,
  attempt: Attempt,
  errand: Pick<InferenceRequest, "boundAt">,
): bigint {
  // What the workspace pays at the provider itself, or has itself, needs no wallet.
  if (isOwnResource(attempt)) return 0n;
  const { inputTokens, outputTokens, characters, seconds, cacheTtl, prompts } = errand.usageBoundAt(
    attempt,
    gateway.limits,
  );
  const input = Math.ceil(inputTokens * (1 + MARGIN_SHARE)) + MARGIN_TOKENS;
  const { currencies, margin, extras } = trail.terms;
  const { currency } = trail.principal.workspace;
  const asked = extras === undefined ? undefined : billedExtras(extras, attempt);
  const also = { characters, seconds, cacheTtl, prompts, margin, extras: asked };
  return holdFor(input, outputTokens, attempt.price, currencies, currency, also);
}

/**
 * Reserves money for the dearest planned attempt, of the wallet and of every spend limit, in one atomic step. A refusal
 * costs no upstream call.
 */
export function admit(
  gateway: AdmissionDeps,
  trail: RequestTrace,
  plan: Pick<Plan, "attempts">,
  errand: Pick<InferenceRequest, "boundAt">,
): MaybePromise<void> {
  if (gateway.journal.isBroken) {
    throw fault("service_unavailable", {
      message: "The gateway cannot write its journal and takes no paid work until it can. Try again shortly.",
      headers: { "retry-after": "5" },
    });
  }
  const { workspace, member } = trail.principal;
  let nanos = 0n;
  // Only what may really be tried: `auto` can have a long tail of dear models that nobody will be sent to.
  const tried = plan.attempts.slice(0, gateway.limits.attemptsMax);
  if (tried.every(isOwnResource)) return;
  for (const attempt of tried) {
    const needed = holdAmountFor(gateway, trail, attempt, errand);
    if (needed > nanos) nanos = needed;
  }
  const { keyId, limits } = gateway.spenderOf(trail.principal);
  const { requestId, createdAtMs: atMs } = trail;
  const hold = { requestId, workspaceId: workspace.id, keyId, memberId: member?.id ?? null, nanos, atMs, limits };
  return chain(gateway.state.hold(hold), (verdict) => {
    if (verdict.is === "held") trail.heldNanos = nanos;
    else {
      trail.holdRefusal = holdRefusalFault(verdict, trail);
      if (!plan.attempts.some(isOwnResource)) throw trail.holdRefusal;
    }
  });
}

type HoldRejection = Exclude<HoldVerdict, { is: "held" }>;

/** What a caller can do so that less is reserved. */
const REDUCTION_HINTS: Readonly<Record<Surface, string>> = {
  chat: "ask for fewer tokens with max_tokens",
  messages: "ask for fewer tokens with max_tokens",
  responses: "ask for fewer tokens with max_output_tokens",
  embeddings: "send fewer or shorter inputs",
  transcriptions: "send a shorter recording",
  speech: "send a shorter text",
  decisions: "ask fewer questions or send a shorter state",
};

function holdRefusalFault(verdict: HoldRejection, trail: RequestTrace): Fault {
  const message =
    verdict.is === "insufficient_credits"
      ? insufficientCreditsMessage(verdict, trail)
      : spendLimitMessage(verdict, trail);
  // Sent again, the same request gets the same answer until somebody pays, or the limit's period is over.
  return fault(verdict.is, { message, headers: { "x-should-retry": "false" } });
}

function insufficientCreditsMessage(
  verdict: Extract<HoldRejection, { is: "insufficient_credits" }>,
  trail: RequestTrace,
): string {
  const { workspace } = trail.principal;
  const needed = formatNanos(verdict.neededNanos);
  const available = formatNanos(verdict.availableNanos);
  return `This request reserves ${needed} ${workspace.currency}, and the wallet of workspace ${workspace.slug} has ${available} ${workspace.currency} available. Top up the wallet, or ${REDUCTION_HINTS[trail.surface]}.`;
}

const PERIOD = { day: "daily", month: "monthly" } as const;

function spendLimitMessage(
  verdict: Extract<HoldRejection, { is: "spend_limit_reached" }>,
  { principal, surface }: RequestTrace,
): string {
  const { limit, spentNanos, heldNanos, neededNanos, resetsAtMs } = verdict;
  const { currency } = principal.workspace;
  const said = (nanos: bigint) => `${formatNanos(nanos)} ${currency}`;
  const running = heldNanos === 0n ? "" : `, ${said(heldNanos)} are reserved by running requests`;
  return `The ${PERIOD[limit.per]} spend limit of ${spenderName(limit.of, principal)} is ${said(limit.nanos)}: ${said(spentNanos)} are spent${running}, and this request reserves ${said(neededNanos)}. The limit resets at ${new Date(resetsAtMs).toISOString()}. Have the limit raised, or ${REDUCTION_HINTS[surface]}.`;
}

function spenderName(of: SpenderKind, { workspace, key, member }: Principal): string {
  if (of === "workspace") return `workspace ${workspace.slug}`;
  return of === "key" ? `key "${key.name}" (${key.id})` : `member ${member?.email ?? ""}`;
}

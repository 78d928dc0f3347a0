import { type Fault, fault } from "../../contract/faults.ts";
import type { HoldVerdict } from "../../domain/admission/shared-state.ts";
import type { Surface } from "../../domain/record/record.ts";
import type { Principal } from "../../domain/tenancy/key.ts";
import type { SpenderKind } from "../../domain/tenancy/limits.ts";
import { formatNanos } from "../../kit/money.ts";
import type { RequestTrace } from "./record.ts";

type HoldRejection = Exclude<HoldVerdict, { is: "held" }>;

/** How a caller can lower the hold. */
const REDUCTION_HINTS: Readonly<Record<Surface, string>> = {
  chat: "lower max_tokens",
  messages: "lower max_tokens",
  responses: "lower max_output_tokens",
  gemini: "lower generationConfig.maxOutputTokens",
  embeddings: "send fewer or shorter inputs",
  rerank: "send fewer or shorter documents",
  moderations: "send fewer or shorter inputs",
  images: "ask for fewer or smaller images",
  transcriptions: "send a shorter recording",
  speech: "send a shorter text",
  decisions: "send fewer questions or a shorter state",
};

export function holdRefusalFault(verdict: HoldRejection, trace: RequestTrace): Fault {
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
  return `This request needs a hold of ${needed} ${workspace.currency}, but the wallet of workspace ${workspace.slug} has only ${available} ${workspace.currency} available. Add funds to the wallet, or ${REDUCTION_HINTS[trace.surface]}.`;
}

const PERIOD = { day: "daily", month: "monthly" } as const;

function spendLimitMessage(
  verdict: Extract<HoldRejection, { is: "spend_limit_reached" }>,
  { principal, surface }: RequestTrace,
): string {
  const { limit, spentNanos, heldNanos, neededNanos, resetsAtMs } = verdict;
  const { currency } = principal.workspace;
  const amount = (nanos: bigint) => `${formatNanos(nanos)} ${currency}`;
  const running = heldNanos === 0n ? "" : `, ${amount(heldNanos)} is held for running requests`;
  return `The ${PERIOD[limit.per]} spend limit of ${spenderName(limit.of, principal)} is ${amount(limit.nanos)}: ${amount(spentNanos)} is spent${running}, and this request needs a hold of ${amount(neededNanos)}. The limit resets at ${new Date(resetsAtMs).toISOString()}. Have the limit raised, or ${REDUCTION_HINTS[surface]}.`;
}

function spenderName(of: SpenderKind, { workspace, key, member }: Principal): string {
  if (of === "workspace") return `workspace ${workspace.slug}`;
  return of === "key" ? `key "${key.name}" (${key.id})` : `member ${member?.email ?? ""}`;
}

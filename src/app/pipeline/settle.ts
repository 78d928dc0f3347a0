import { type Fault, fault } from "../../contract/faults.ts";
import { chargedKeyUseOf } from "../../domain/admission/idempotency.ts";
import { type Charge, chargeFor, ImpossibleUsage } from "../../domain/billing/charge.ts";
import { inputOnlyPrice } from "../../domain/billing/tariff.ts";
import type { RequestRecord, UsageRecord } from "../../domain/record/record.ts";
import { type Attempt, isOwnResource } from "../../domain/routing/attempt.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import { tokensOfWeight } from "../../language/canon/estimate.ts";
import type { MeteredUnits, ReportedCost } from "../../language/canon/reply.ts";
import { NO_TOKENS, type Usage } from "../../language/canon/usage.ts";
import { isImplausibleUsage, NO_CEILING, type UsageCeiling } from "../../language/canon/usage-plausibility.ts";
import { extrasUsed } from "./extras.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import type { RequestTrace } from "./request-trace.ts";

/** What the meter saw of an answer, whole or not. */
export type MeteredUsage = {
  readonly usage: Usage | undefined;
  readonly outputWeight: number;
  readonly units?: MeteredUnits | undefined;
  /** What it is billed by where the provider told no figures. */
  readonly estimate?: Usage | undefined;
  /** How many inputs the figures are of, each read by itself; absent: one. */
  readonly promptCount?: number | undefined;
  /** How often the provider may have read all of it; absent: once for each input. */
  readonly promptReads?: number | undefined;
  /** The answer or its figures were cut short, so these may be older than what was sent of it. */
  readonly isUsagePartial?: true | undefined;
  /** How often something was used that is billed apart. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  /** The provider would not answer: only what it read is charged. */
  readonly declined?: Fault | undefined;
  /** There were figures that nobody may be billed by. */
  readonly isUsageRejected?: true | undefined;
};

/** What the end of a request needs of everything the request path is given. */
export type SettlementDeps = Pick<GatewayDeps, "journal" | "state" | "finished" | "noticed">;

/** Nothing is shown as the cost of what was not charged. */
export type Settlement = { readonly usage: UsageRecord; readonly shown: ReportedCost | undefined };

/** The provider's figures, or the gateway's own count, marked so, where it gave none. */
function billableUsage(metered: MeteredUsage, inputTokensEstimate: number): UsageRecord {
  const { characters = null, seconds = null } = metered.units ?? {};
  if (metered.usage !== undefined) {
    const { usage, promptCount = 1 } = metered;
    const told = promptCount > 1 ? { ...usage, inputs: promptCount } : usage;
    if (metered.isUsagePartial !== true) return { ...told, characters, seconds, estimated: false };
    const outputTokens = tokensOfWeight(metered.outputWeight);
    // Figures from before the model spoke say next to nothing of the output; those that lag a little are the truth.
    const stale = 2 * told.outputTokens < outputTokens;
    const counted = stale ? { ...told, outputTokens } : told;
    // There is no prompt of nothing: where a conversation is shortened first, what was read is told at the end. What is
    // heard or spoken has its length instead.
    if (counted.inputTokens === 0 && metered.units === undefined)
      return { ...counted, inputTokens: inputTokensEstimate, characters, seconds, estimated: true };
    return { ...counted, characters, seconds, estimated: stale };
  }
  if (metered.estimate !== undefined) return { ...metered.estimate, characters, seconds, estimated: true };
  const outputTokens = tokensOfWeight(metered.outputWeight);
  return { ...NO_TOKENS, inputTokens: inputTokensEstimate, outputTokens, characters, seconds, estimated: true };
}

export type ChargedEnd = {
  readonly status: number;
  readonly errorCode: string | null;
  readonly beforeCharge?: ((settled: Settlement) => Promise<void>) | undefined;
};

/** What is known of a request beside what came of it. */
export type UsageContext = {
  /** The input, estimated. */
  readonly inputTokens: number;
  /** Absent: nothing of the request says where its figures end. */
  readonly end?: UsageCeiling | undefined;
};

function isPlausible(metered: MeteredUsage, { endpoint, model }: Attempt, { end = NO_CEILING }: UsageContext): boolean {
  const { usage, promptCount, promptReads = promptCount } = metered;
  const context = endpoint.limits.contextTokens ?? model.contextTokens;
  const told = usage && { usage, outputWeight: () => metered.outputWeight, promptReads };
  return told !== undefined && !isImplausibleUsage(told, context, end);
}

type ReplacementReason = Extract<OperatorEvent, { is: "figures_replaced" }>["why"];

/** Why there were figures of the provider to replace; undefined where they count, or where there need not be any. */
function replacementReason(
  { usage, units, isUsagePartial }: MeteredUsage,
  figures: "refuted" | "stand",
): ReplacementReason | undefined {
  if (figures === "refuted") return "impossible";
  return usage === undefined && units === undefined && isUsagePartial !== true ? "none" : undefined;
}

type ComputedCharge = {
  readonly usage: UsageRecord;
  readonly charge: Charge;
  readonly replaced: ReplacementReason | undefined;
};

/** Price and usage to a charge; figures nobody may be billed by fall back to the estimate. */
function computeCharge(
  trail: RequestTrace,
  attempt: Attempt,
  metered: MeteredUsage,
  asked: UsageContext,
): ComputedCharge {
  const { currencies, margin, extras, limited } = trail.terms;
  const { currency } = trail.principal.workspace;
  const believed = isPlausible(metered, attempt, asked);
  const isRefuted = metered.isUsageRejected === true || (metered.usage !== undefined && !believed);
  const replaced = replacementReason(metered, isRefuted ? "refuted" : "stand");
  const tokens = billableUsage(believed ? metered : withoutReportedUsage(metered), asked.inputTokens);
  const used = extras === undefined ? undefined : extrasUsed(extras, attempt, metered.extraUses);
  const usage = used === undefined ? tokens : { ...tokens, extras: used };
  const price = metered.declined === undefined ? attempt.price : inputOnlyPrice(attempt.price);
  try {
    const charge = chargeFor(usage, price, currencies, currency, margin);
    // Where no limit is stated the hold is no bound, and who hangs up just before the figures come must not gain by it.
    if (limited === "no" && !isRefuted) return { usage, charge, replaced };
    return { usage, charge: usage.estimated ? capCharge(charge, trail.heldNanos) : charge, replaced };
  } catch (error) {
    if (!(error instanceof ImpossibleUsage) || !believed) throw error;
    return computeCharge(trail, attempt, withoutReportedUsage(metered), asked);
  }
}

/** The same without the provider's figures. */
function withoutReportedUsage({ outputWeight, units, estimate, extraUses, declined }: MeteredUsage): MeteredUsage {
  return { usage: undefined, outputWeight, units, estimate, extraUses, declined, isUsageRejected: true };
}

/**
 * An estimate is the gateway's own guess. In the place of figures that cannot be, or where the caller stated a limit, it
 * takes no more than was reserved.
 */
function capCharge(charge: Charge, mostNanos: bigint): Charge {
  if (charge.nanos <= mostNanos) return charge;
  return { nanos: mostNanos, record: { ...charge.record, nanos: mostNanos.toString() } };
}

/**
 * The end of a request that used something: charge, journal, hold. The journal's write returns before the caller sends
 * the last bytes, so an answer that a client received whole is always in the books. `made` is awaited before that: what a
 * charge is for may have to be kept first, and it must not fail.
 */
export async function settleCharged(
  gateway: SettlementDeps,
  trail: RequestTrace,
  attempt: Attempt,
  metered: MeteredUsage,
  asked: UsageContext,
  end: ChargedEnd,
): Promise<Settlement> {
  const { usage, charge, replaced } = computeCharge(trail, attempt, metered, asked);
  const isOwn = attempt.ownKey !== undefined;
  const { id: endpoint, provider } = attempt.endpoint;
  const cost = { cost: Number(charge.nanos) / 1e9, currency: charge.record.currency };
  const told: Settlement = { usage, shown: isOwn ? undefined : cost };
  if (end.beforeCharge !== undefined) await end.beforeCharge(told);
  const record = trail.finishedRecord({
    status: end.status,
    errorCode: end.errorCode,
    usage,
    charge: isOwn ? null : charge.record,
  });
  try {
    await gateway.journal.append({ t: "done", record });
  } catch (cause) {
    await gateway.state.settle(trail.hold, 0n);
    throw fault("service_unavailable", {
      message:
        "The gateway could not write the request into its journal, so it gives no answer and charges nothing. Try again shortly.",
      headers: { "retry-after": "5" },
      detail: { cause: String(cause) },
    });
  }
  const settled = gateway.state.settle(trail.hold, isOwn ? 0n : charge.nanos);
  if (settled instanceof Promise) await settled;
  const use = record.idempotency && chargedKeyUseOf(record);
  if (use !== undefined) await gateway.state.recordKeyUse(use);
  // Of a workspace's own key or machine nothing is charged, and its operator can mend nothing of it.
  if (replaced !== undefined && !isOwnResource(attempt))
    gateway.onNotice({ is: "figures_replaced", endpoint, provider, why: replaced, requestId: trail.requestId });
  gateway.onRequestFinished(record);
  return told;
}

/** The end of a request that is not charged: the hold goes back, the log row says why. */
export async function settleUncharged(
  gateway: SettlementDeps,
  trail: RequestTrace,
  record: RequestRecord,
): Promise<void> {
  await gateway.state.settle(trail.hold, 0n);
  gateway.onRequestFinished(record);
  // A refusal is answered whether or not it could be logged.
  await gateway.journal.append({ t: "done", record }).catch(() => undefined);
}

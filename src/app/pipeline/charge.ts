import type { Fault } from "../../contract/faults.ts";
import { type Charge, chargeFor, ImpossibleUsage } from "../../domain/billing/charge.ts";
import { inputOnlyPrice } from "../../domain/billing/tariff.ts";
import type { UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import type { OperatorEvent } from "../../io/telemetry/operator-events.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { MeteredUnits } from "../../language/canon/reply.ts";
import {
  isImplausibleUsage,
  NO_CEILING,
  NO_TOKENS,
  tokensOfWeight,
  type Usage,
  type UsageCeiling,
} from "../../language/canon/tokens.ts";
import type { RequestTrace } from "./request-trace.ts";

/** What the gateway metered of a reply, complete or not. */
export type MeteredUsage = {
  readonly usage: Usage | undefined;
  readonly outputWeight: number;
  readonly units?: MeteredUnits | undefined;
  /** Billed when the provider reports no usage. */
  readonly estimate?: Usage | undefined;
  /** Number of separate inputs in the usage; absent: one. */
  readonly promptCount?: number | undefined;
  /** How often the provider may have read each input; absent: once. */
  readonly promptReads?: number | undefined;
  /** The reply or its usage was interrupted, so the usage may lag behind the sent output. */
  readonly isUsagePartial?: true | undefined;
  /** Uses of separately billed extras. */
  readonly extraUses?: Readonly<Record<string, number>> | undefined;
  /** The provider declined the request: only the input is charged. */
  readonly declined?: Fault | undefined;
  /** The provider's usage was implausible. */
  readonly isUsageRejected?: true | undefined;
};

/** What the request itself says about its usage. */
export type UsageContext = {
  /** Estimated. */
  readonly inputTokens: number;
  /** Absent: the request sets no upper bound. */
  readonly ceiling?: UsageCeiling | undefined;
};

type ReplacementReason = Extract<OperatorEvent, { is: "usage_replaced" }>["why"];

export type ComputedCharge = {
  readonly usage: UsageRecord;
  readonly charge: Charge;
  /** Set when an estimate replaces the provider's usage. */
  readonly replaced: ReplacementReason | undefined;
};

/** Prices the usage; missing or implausible usage is replaced by an estimate. */
export function computeCharge(
  trace: RequestTrace,
  attempt: Attempt,
  metered: MeteredUsage,
  context: UsageContext,
): ComputedCharge {
  const { currencies, margin, extras, hasOutputLimit } = trace.terms;
  const { currency } = trace.principal.workspace;
  const isPlausible = isPlausibleUsage(metered, attempt, context);
  const isRejected = metered.isUsageRejected === true || (metered.usage !== undefined && !isPlausible);
  const replaced = isRejected ? "impossible" : isUsageMissing(metered) ? "none" : undefined;
  const tokens = billableUsage(isPlausible ? metered : withoutReportedUsage(metered), context.inputTokens);
  const used = extras === undefined ? undefined : usedExtras(extras, attempt, metered.extraUses);
  const usage = used === undefined ? tokens : { ...tokens, extras: used };
  const price = metered.declined === undefined ? attempt.price : inputOnlyPrice(attempt.price);
  try {
    const charge = chargeFor(usage, price, currencies, currency, margin);
    // Without an output limit the hold is no upper bound, and a disconnect before the usage arrives must not save money.
    if (!hasOutputLimit && !isRejected) return { usage, charge, replaced };
    return { usage, charge: usage.estimated ? capCharge(charge, trace.heldNanos) : charge, replaced };
  } catch (error) {
    if (!(error instanceof ImpossibleUsage) || !isPlausible) throw error;
    return computeCharge(trace, attempt, withoutReportedUsage(metered), context);
  }
}

function isPlausibleUsage(
  metered: MeteredUsage,
  { endpoint, model }: Attempt,
  { ceiling = NO_CEILING }: UsageContext,
): boolean {
  const { usage, promptCount, promptReads = promptCount } = metered;
  const contextTokens = endpoint.limits.contextTokens ?? model.contextTokens;
  if (usage === undefined) return false;
  return !isImplausibleUsage({ usage, outputWeight: () => metered.outputWeight, promptReads }, contextTokens, ceiling);
}

function isUsageMissing({ usage, units, isUsagePartial }: MeteredUsage): boolean {
  return usage === undefined && units === undefined && isUsagePartial !== true;
}

/** The provider's usage, or the gateway's estimate marked as such. */
function billableUsage(metered: MeteredUsage, inputTokensEstimate: number): UsageRecord {
  const { characters = null, seconds = null } = metered.units ?? {};
  if (metered.usage !== undefined) {
    const { promptCount = 1 } = metered;
    const usage = promptCount > 1 ? { ...metered.usage, inputs: promptCount } : metered.usage;
    if (metered.isUsagePartial !== true) return { ...usage, characters, seconds, estimated: false };
    const outputTokens = tokensOfWeight(metered.outputWeight);
    // A partial usage that covers less than half of the sent output is stale; a smaller lag is accepted.
    const isStale = 2 * usage.outputTokens < outputTokens;
    const partial = isStale ? { ...usage, outputTokens } : usage;
    // With compaction the provider reports the input only at the end. Audio is billed by its units instead.
    if (partial.inputTokens === 0 && metered.units === undefined)
      return { ...partial, inputTokens: inputTokensEstimate, characters, seconds, estimated: true };
    return { ...partial, characters, seconds, estimated: isStale };
  }
  if (metered.estimate !== undefined) return { ...metered.estimate, characters, seconds, estimated: true };
  const outputTokens = tokensOfWeight(metered.outputWeight);
  return { ...NO_TOKENS, inputTokens: inputTokensEstimate, outputTokens, characters, seconds, estimated: true };
}

/**
 * Uses per priced extra: a price multiplier applies because it was requested, any other extra as often as the provider
 * reports. Undefined when the endpoint prices no extras.
 */
function usedExtras(
  extras: readonly BillableExtra[],
  { price }: Attempt,
  uses: Readonly<Record<string, number>> | undefined,
): Record<string, number> | undefined {
  if (price.extras === undefined) return undefined;
  const used: Record<string, number> = {};
  for (const { name } of extras) {
    const row = price.extras[name];
    if (row === undefined) continue;
    used[name] = row.times === null ? (uses?.[name] ?? 0) : 1;
  }
  return used;
}

function withoutReportedUsage({ outputWeight, units, estimate, extraUses, declined }: MeteredUsage): MeteredUsage {
  return { usage: undefined, outputWeight, units, estimate, extraUses, declined, isUsageRejected: true };
}

function capCharge(charge: Charge, maxNanos: bigint): Charge {
  if (charge.nanos <= maxNanos) return charge;
  return { nanos: maxNanos, record: { ...charge.record, nanos: maxNanos.toString() } };
}

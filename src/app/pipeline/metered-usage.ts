import type { Fault } from "../../contract/faults.ts";
import type { Charge } from "../../domain/billing/charge.ts";
import type { UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { MeteredUnits, ReportedCost } from "../../language/canon/reply.ts";
import { tokensOfWeight, unitCounts } from "../../language/canon/tokens.ts";
import { NO_TOKENS, type Usage } from "../../language/canon/usage.ts";
import type { UsageCeiling } from "../../language/canon/usage-ceiling.ts";
import type { GatewayDeps } from "./gateway-deps.ts";

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

/**
 * Uses per priced extra: a price multiplier applies because it was requested, any other extra as often as the provider
 * reports. Undefined when the endpoint prices no extras.
 */
export function usedExtras(
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

/** For usage that the provider reported and that is implausible. */
export function withoutReportedUsage({
  outputWeight,
  units,
  estimate,
  extraUses,
  declined,
}: MeteredUsage): MeteredUsage {
  return { usage: undefined, outputWeight, units, estimate, extraUses, declined, isUsageRejected: true };
}

/** The gateway's estimate where the provider reported no usage, or not all of it. */
export function estimatedUsage(metered: MeteredUsage, inputTokensEstimate: number): UsageRecord {
  const units = unitCounts(metered.units);
  const outputTokens = tokensOfWeight(metered.outputWeight);
  if (metered.usage !== undefined) {
    const { promptCount = 1 } = metered;
    const usage = promptCount > 1 ? { ...metered.usage, inputs: promptCount } : metered.usage;
    // A partial usage that covers less than half of the sent output is stale; a smaller lag is accepted.
    const isStale = 2 * usage.outputTokens < outputTokens;
    const partial = isStale ? { ...usage, outputTokens } : usage;
    // With compaction the provider reports the input only at the end. Audio is billed by its units instead.
    if (partial.inputTokens === 0 && metered.units === undefined)
      return { ...partial, inputTokens: inputTokensEstimate, ...units, estimated: true };
    return { ...partial, ...units, estimated: isStale };
  }
  if (metered.estimate !== undefined) return { ...metered.estimate, ...units, estimated: true };
  const counts = { ...NO_TOKENS, inputTokens: inputTokensEstimate, outputTokens, isReasoningUncounted: true } as const;
  return { ...counts, ...units, estimated: true };
}

export function capCharge(charge: Charge, maxNanos: bigint): Charge {
  if (charge.nanos <= maxNanos) return charge;
  return { nanos: maxNanos, record: { ...charge.record, nanos: maxNanos.toString() } };
}

export type SettlementDeps = Pick<GatewayDeps, "journal" | "state" | "onRequestFinished" | "onNotice">;
/** `shown` is undefined when nothing was charged. */
export type Settlement = { readonly usage: UsageRecord; readonly shown: ReportedCost | undefined };
export type ChargedEnd = {
  readonly status: number;
  readonly errorCode: string | null;
  /** Awaited before the charge is journaled; must not fail. */
  readonly beforeCharge?: ((settlement: Settlement) => Promise<void>) | undefined;
};

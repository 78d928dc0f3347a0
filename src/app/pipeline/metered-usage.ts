import type { Fault } from "../../contract/faults.ts";
import type { UsageRecord } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import type { BillableExtra } from "../../language/canon/extras.ts";
import type { MeteredUnits, ReportedCost } from "../../language/canon/reply.ts";
import type { Usage } from "../../language/canon/usage.ts";
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

export type SettlementDeps = Pick<GatewayDeps, "journal" | "state" | "onRequestFinished" | "onNotice">;
/** `shown` is undefined when nothing was charged. */
export type Settlement = { readonly usage: UsageRecord; readonly shown: ReportedCost | undefined };
export type ChargedEnd = {
  readonly status: number;
  readonly errorCode: string | null;
  /** Awaited before the charge is journaled; must not fail. */
  readonly beforeCharge?: ((settlement: Settlement) => Promise<void>) | undefined;
};

import type { Fault, FaultCode } from "../../contract/faults.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { ReachableEndpoint } from "./reachability.ts";

/** The filters in the order in which they answer when one of them leaves nothing (ERR-10). */
export type FilterStage = "capability" | "policy" | "wish" | "quality" | "nodes";

/** Why a row is out: as it is, or put into words only when someone reads it, which is rarer than planning. */
export type ExclusionReason = string | ((row: ReachableEndpoint) => string);

/** At which filter, by which rule or field, and why. Rows that fall for the same cause share one. */
export type ExclusionCause = {
  readonly stage: FilterStage;
  readonly rule: string;
  readonly reason: ExclusionReason;
  /** The prompt alone is beyond what the endpoint takes. */
  readonly contextTokens?: number | undefined;
  /** What a caller is told when every endpoint falls short, or only by which code. */
  readonly fault?: Fault | undefined;
  readonly code?: FaultCode | undefined;
};

/** An endpoint that fell out, in words. */
export type ExcludedEndpoint = Omit<ExclusionCause, "reason"> & {
  readonly endpoint: Endpoint;
  readonly reason: string;
};

/** Everything that fell out, with the cause of each at the same place of a second list. */
export type ExcludedRows = {
  readonly excluded: readonly ReachableEndpoint[];
  readonly causes: readonly ExclusionCause[];
};

export function describeExclusions({ excluded, causes }: ExcludedRows): ExcludedEndpoint[] {
  const told: ExcludedEndpoint[] = [];
  for (const [at, cause] of causes.entries()) {
    const row = excluded[at];
    if (row === undefined) continue;
    const { stage, rule, reason, contextTokens, fault, code } = cause;
    const inWords = typeof reason === "string" ? reason : reason(row);
    told.push({ endpoint: row.endpoint, stage, rule, reason: inWords, contextTokens, fault, code });
  }
  return told;
}

import type { Fault, FaultCode } from "../../contract/faults.ts";
import { flattenString } from "../../kit/flatten-string.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { CandidateRecord } from "../record/record.ts";
import type { ReachableEndpoint } from "./reachable-endpoint.ts";

/** In filter order; the last stage that excluded anything determines the fault (ERR-10, ERR-13). */
export type FilterStage = "policy" | "capability" | "hint" | "quality" | "nodes";

/** A function when the text depends on the endpoint: most plans never format it. */
export type ExclusionReason = string | ((row: ReachableEndpoint) => string);

/** Why a filter excluded an endpoint. Endpoints with the same cause share one object. */
export type ExclusionCause = {
  readonly stage: FilterStage;
  readonly rule: string;
  readonly reason: ExclusionReason;
  /** The exceeded limit of the endpoint. */
  readonly limit?: number | undefined;
  /** Set when the prompt alone exceeds this context window. */
  readonly contextTokens?: number | undefined;
  /** The fault to answer with when every endpoint is excluded, or only its code. */
  readonly fault?: Fault | undefined;
  readonly code?: FaultCode | undefined;
};

/** An excluded endpoint with its reason as text. */
export type ExcludedEndpoint = Omit<ExclusionCause, "reason"> & {
  readonly endpoint: Endpoint;
  readonly reason: string;
};

/** Two parallel lists: `causes[n]` belongs to `excluded[n]`. */
export type ExcludedRows = {
  readonly excluded: readonly ReachableEndpoint[];
  readonly causes: readonly ExclusionCause[];
};

export type FilterResult = {
  /** The pool first, then the router's fallbacks, then deferred nodes. */
  readonly eligible: ReachableEndpoint[];
  /** The filled length of `eligible`, which is preallocated. */
  eligibleCount: number;
  /** The first `poolCount` rows belong to the pool. */
  poolCount: number;
  /** `causes[n]` is why `excluded[n]` did not pass. */
  readonly excluded: ReachableEndpoint[];
  readonly causes: ExclusionCause[];
  excludedCount: number;
  /** Why requested models have no reachable endpoint. */
  readonly obstacles: string[];
  /** Reachable models that policy does not permit. */
  readonly forbiddenModels: string[];
  /** Eligible nodes that the router uses only as a fallback. */
  readonly deferredNodes: ReachableEndpoint[];
};

export function describeExclusions({ excluded, causes }: ExcludedRows): ExcludedEndpoint[] {
  const described: ExcludedEndpoint[] = [];
  for (const [index, cause] of causes.entries()) {
    const row = excluded[index];
    if (row === undefined) continue;
    const { stage, rule, reason, limit, contextTokens, fault, code } = cause;
    const text = typeof reason === "string" ? reason : reason(row);
    described.push({ endpoint: row.endpoint, stage, rule, reason: text, limit, contextTokens, fault, code });
  }
  return described;
}

export function excludedCandidate({ endpoint, stage, rule, reason }: ExcludedEndpoint): CandidateRecord {
  return {
    endpoint: endpoint.id,
    model: endpoint.model,
    provider: endpoint.provider,
    level: endpoint.sovereignty.level,
    ...(endpoint.sovereignty.attested === undefined ? {} : { attested: true }),
    outcome: "excluded",
    // A capability reason already names the field of the request.
    reason: flattenString(stage === "capability" ? reason : `${rule}: ${reason}`),
    scores: null,
  };
}

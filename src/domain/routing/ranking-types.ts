import type { ProviderSort } from "../../language/canon/routing-hints.ts";
import type { Weights } from "../tenancy/router.ts";
import type { CircuitState } from "./circuit-state.ts";
import type { FilterResult } from "./exclusion.ts";
import type { LatencyEstimate } from "./latency-estimate.ts";
import type { PlanRequest } from "./planning-context.ts";

/** One column per metric, indexed like `FilterResult.eligible`. */
export type CandidateMetrics = {
  /** Expected length of the reply. */
  readonly outputTokens: Float64Array;
  readonly costNanos: Float64Array;
  /** Undefined when there is no measurement. */
  readonly latencyEstimates: readonly (LatencyEstimate | undefined)[];
  /** Expected for this request; the pool's median when there is no measurement. */
  readonly latencyMs: Float64Array;
  /** The pool's lower quartile when the quality is unknown. */
  readonly quality: Float64Array;
  /** The candidate that served the session before, or -1. */
  readonly sessionIndex: number;
};

/** The columns to order by. */
export type SortMetrics = {
  readonly primary: Float64Array;
  readonly bestEnd: "least" | "most";
  /** Breaks ties, least first. */
  readonly secondary: Float64Array;
};

/** Candidates are referred to by their index in `FilterResult.eligible`. */
export type Ranking = {
  /**
   * In the order of attempts: the best of the pool, then fallbacks, then open circuits. The workspace's own keys and nodes
   * are always included.
   */
  readonly shortlist: readonly number[];
  readonly basis: RankingBasis;
  /** Only circuits that are not closed; undefined when all are closed. */
  readonly circuitStates: ReadonlyMap<number, CircuitState> | undefined;
  /** Full sort, needed only for the decision record. */
  readonly sortIndices: (indices: readonly number[]) => number[];
};

/** Retained by the plan, so that the record is built only when it is stored. */
export type PlanInputs = {
  readonly request: PlanRequest;
  readonly filtered: FilterResult;
  readonly metrics: CandidateMetrics;
  readonly scores: CandidateScores | undefined;
  readonly ranking: Ranking;
  readonly reason: string;
  /** The caller allows no fallbacks. */
  readonly isFirstOnly: boolean;
};

/** Why the first candidate is first. */
export type RankingBasis =
  | "cost"
  | "own_key"
  | "nodes_first"
  | "score"
  | "session"
  | "order"
  | "fallback"
  | ProviderSort;

/** From 0 (worst of the pool) to 1 (best). */
export type CandidateScores = {
  readonly weights: Weights;
  readonly total: Float64Array;
  componentsAt(index: number): { readonly quality: number; readonly cost: number; readonly latency: number };
};

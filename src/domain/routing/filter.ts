import type { Policy } from "../tenancy/policy.ts";
import type { NodeUse, RouterSpec } from "../tenancy/router.ts";
import { findMissingCapability } from "./capability.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { excludedByPolicy, type PolicyClass, permitsModel } from "./policy.ts";
import {
  comparableWalletPerUsd,
  type PreparedPreferences,
  preferenceExclusionCause,
  preparePreferences,
} from "./preferences.ts";
import type { Attempt, ModelReachability, ReachableEndpoint } from "./reachable-endpoint.ts";
import type { MissingCapability } from "./requirements.ts";
import { findRestrictedFeature } from "./restricted-features.ts";

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

export function emptyFilterResult(capacity = 0): FilterResult {
  return {
    eligible: new Array<ReachableEndpoint>(capacity),
    eligibleCount: 0,
    poolCount: 0,
    excluded: new Array<ReachableEndpoint>(capacity),
    causes: new Array<ExclusionCause>(capacity),
    excludedCount: 0,
    obstacles: [],
    forbiddenModels: [],
    deferredNodes: [],
  };
}

/** The policy's verdict per policy class, computed once. It lives as long as one plan. */
export class PolicyVerdictCache {
  readonly #policy: Policy;
  readonly #verdicts: { readonly policyClass: PolicyClass; readonly cause: ExclusionCause | undefined }[] = [];

  constructor(policy: Policy) {
    this.#policy = policy;
  }

  exclusionCauseFor(policyClass: PolicyClass): ExclusionCause | undefined {
    const known = this.#verdicts[policyClass.index];
    if (known !== undefined && known.policyClass === policyClass) return known.cause;
    const exclusion = excludedByPolicy(policyClass.facts, this.#policy);
    const cause: ExclusionCause | undefined =
      exclusion === undefined ? undefined : { stage: "policy", rule: exclusion.rule, reason: exclusion.reason };
    this.#verdicts[policyClass.index] = { policyClass, cause };
    return cause;
  }
}

export type EligibilityCheck = {
  readonly request: PlanRequest;
  readonly context: PlanningContext;
  readonly policyVerdicts: PolicyVerdictCache;
  readonly preferences: PreparedPreferences | undefined;
  readonly qualityFloor: number | null;
  /** How the router uses the workspace's own nodes. */
  readonly nodes: NodeUse | null;
};

export function eligibilityCheckFor(request: PlanRequest, context: PlanningContext): EligibilityCheck {
  const preferences = request.hints?.provider;
  const spec = request.target.is === "router" ? request.target.router?.spec : undefined;
  return {
    request,
    context,
    policyVerdicts: new PolicyVerdictCache(request.policy),
    preferences:
      preferences === undefined
        ? undefined
        : preparePreferences(preferences, request.requirements.inputTokens, comparableWalletPerUsd(context)),
    qualityFloor: spec?.qualityFloor ?? null,
    nodes: spec?.nodes ?? null,
  };
}

export function filterTargetModel(modelId: string, check: EligibilityCheck): FilterResult {
  const result = emptyFilterResult();
  filterModels([modelId], check, result);
  result.poolCount = result.eligibleCount;
  return result;
}

export function filterModels(modelIds: readonly string[], check: EligibilityCheck, result: FilterResult): void {
  const { snapshot, reachability } = check.context;
  for (const modelId of modelIds)
    if (snapshot.models.has(modelId)) filterModel(modelId, reachability(modelId), check, result);
}

export function filterModel(
  modelId: string,
  { endpoints, obstacles }: ModelReachability,
  check: EligibilityCheck,
  result: FilterResult,
): void {
  const { request } = check;
  if (endpoints.length === 0) result.obstacles.push(...obstacles);
  else if (!permitsModel(modelId, request.policy)) result.forbiddenModels.push(modelId);
  else filterEndpoints(endpoints, check, result);
}

export function filterEndpoints(
  endpoints: readonly ReachableEndpoint[],
  check: EligibilityCheck,
  result: FilterResult,
): void {
  for (const row of endpoints) {
    const cause = exclusionCauseFor(row, check);
    if (cause === undefined && check.nodes === "fallback" && row.node !== undefined) result.deferredNodes.push(row);
    else if (cause === undefined) {
      result.eligible[result.eligibleCount] = row;
      result.eligibleCount += 1;
    } else if (result.excluded[result.excludedCount - 1]?.endpoint !== row.endpoint) {
      // An endpoint with two keys is excluded twice for the same cause; it is listed once.
      result.excluded[result.excludedCount] = row;
      result.causes[result.excludedCount] = cause;
      result.excludedCount += 1;
    }
  }
}

/** The first filter that excludes the endpoint. */
export function exclusionCauseFor(row: ReachableEndpoint, check: EligibilityCheck): ExclusionCause | undefined {
  const { policyClass } = row;
  const { request, context, policyVerdicts, preferences } = check;
  const { requirements, policy } = request;
  let missing = findMissingCapability(row, requirements, context.support);
  if (requirements.extras !== undefined || requirements.needs.length > 0)
    missing ??= findRestrictedFeature(row, requirements, policy, context.support);
  if (missing !== undefined) return capabilityCause(missing);
  const excluded = policyVerdicts.exclusionCauseFor(policyClass);
  if (excluded !== undefined) return excluded;
  const hintCause = preferences === undefined ? undefined : preferenceExclusionCause(row, preferences);
  return hintCause ?? routerExclusionCause(row, check);
}

/** Router settings that are not policy: the quality floor and the use of nodes. */
export function routerExclusionCause(
  { model, node }: Pick<Attempt, "model" | "node">,
  { qualityFloor, nodes }: Pick<RouterSpec, "qualityFloor" | "nodes">,
): RouterCause | undefined {
  // Unknown quality is below any floor.
  if (qualityFloor !== null && (model.quality === null || model.quality.score < qualityFloor)) {
    const quality = model.quality === null ? "its quality is not known" : `its quality is ${model.quality.score}`;
    return { stage: "quality", rule: "quality_floor", reason: `${quality}, the floor is ${qualityFloor}` };
  }
  return nodes === "only" && node === undefined ? NOT_A_NODE : undefined;
}

type RouterCause = ExclusionCause & { readonly reason: string };

const NOT_A_NODE: RouterCause = {
  stage: "nodes",
  rule: "nodes",
  reason: "the router wants the workspace's own nodes only",
};

function capabilityCause({ param, reason, contextTokens, fault, code }: MissingCapability): ExclusionCause {
  return { stage: "capability", rule: param, reason, contextTokens, fault, code };
}

import type { Effort } from "../../language/canon/call.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { NodeUse } from "../tenancy/router.ts";
import type { ExclusionCause, FilterResult } from "./exclusion.ts";
import {
  capabilityCause,
  contextExceeded,
  emptyOutputUnsupported,
  missingNeed,
  outputExceeded,
  supportsNeed,
} from "./need-support.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { excludedByPolicy, type PolicyClass, permitsModel } from "./policy.ts";
import {
  comparableWalletPerUsd,
  type PreparedPreferences,
  preferenceExclusionCause,
  preparePreferences,
} from "./preferences.ts";
import type { ModelReachability, ReachableEndpoint } from "./reachable-endpoint.ts";
import type { DialectSupport, EndpointWithLimits, MissingCapability, Requirements } from "./requirements.ts";
import { findRestrictedFeature } from "./restricted-features.ts";
import { routerExclusionCause } from "./router-rules.ts";

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
  const { policyVerdicts, preferences, qualityFloor, nodes } = check;
  const excluded = policyVerdicts.exclusionCauseFor(row.policyClass) ?? capabilityExclusionCause(row, check);
  if (excluded !== undefined) return excluded;
  const hintCause = preferences === undefined ? undefined : preferenceExclusionCause(row, preferences);
  if (hintCause !== undefined || (qualityFloor === null && nodes === null)) return hintCause;
  return routerExclusionCause(row, check);
}

/** The first capability that the endpoint lacks for this request, whatever policy says. */
export function capabilityExclusionCause(
  row: ReachableEndpoint,
  { request: { requirements, policy }, context: { support } }: EligibilityCheck,
): ExclusionCause | undefined {
  let missing = findMissingCapability(row, requirements, support, policy);
  if (requirements.extras !== undefined || requirements.needs.length > 0)
    missing ??= findRestrictedFeature(row, requirements, policy, support);
  return missing === undefined ? undefined : capabilityCause(missing);
}

/** The first requirement that the endpoint does not meet. */
function findMissingCapability(
  limited: EndpointWithLimits,
  requirements: Requirements,
  support: DialectSupport,
  policy: Policy,
): MissingCapability | undefined {
  const { endpoint, model } = limited;
  if (requirements.checkFit !== undefined) return requirements.checkFit(endpoint, model);
  const isNative = support.isNative?.(endpoint) === true;
  const unencodable = isNative ? undefined : findUnencodable(endpoint, requirements, support, policy);
  if (unencodable !== undefined) return unencodable;
  for (const { need, param } of requirements.needs) {
    if ((!isNative && !support.takesNeed(endpoint, need, requirements)) || !supportsNeed(endpoint, model, need))
      return missingNeed(need, param);
  }
  // A provider addressed in its own dialect rejects oversized requests itself, with an error its clients know.
  if (isNative && requirements.modelChosenBy === "caller") return undefined;
  const context = limited.contextTokens;
  if (context !== null && requirements.inputTokens > context) return contextExceeded(context, requirements);
  if (requirements.outputLimitKind === "bound") return undefined;
  const output = limited.maxOutputTokens;
  if (output !== null && requirements.maxOutputTokens !== undefined && requirements.maxOutputTokens > output)
    return outputExceeded(output, requirements);
  return undefined;
}

/** The first part of the call that the endpoint's dialect cannot express. */
function findUnencodable(
  endpoint: Endpoint,
  requirements: Requirements,
  support: DialectSupport,
  policy: Policy,
): MissingCapability | undefined {
  const nativeField = requirements.nativeFields?.[0];
  if (nativeField !== undefined && support.forwardsUnknown?.(endpoint, requirements) !== true)
    return { reason: `uses another dialect, which has no ${nativeField}`, param: nativeField };
  if (requirements.maxOutputTokens === 0) return emptyOutputUnsupported(endpoint);
  for (const parameter of requirements.parameters) {
    if (support.takesParameter(endpoint, parameter, requirements)) continue;
    if (policy.parameters === "lenient" && requirements.neutralParameters?.includes(parameter)) continue;
    const param = requirements.parameterNames?.[parameter] ?? parameter;
    return { reason: `does not support the parameter ${param}`, param };
  }
  return undefined;
}

/** Supported reasoning efforts of the model at an endpoint; null: unknown. */
export function effortsOf(endpoint: Endpoint, model: Model): readonly Effort[] | null {
  return endpoint.efforts ?? model.efforts ?? null;
}

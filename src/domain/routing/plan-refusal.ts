import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { Endpoint } from "../catalogue/catalogue.ts";
import type { DecisionRecord } from "../record/record.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { RouterSpec } from "../tenancy/router.ts";
import { routerFields } from "./decision-record.ts";
import {
  describeExclusions,
  type ExcludedEndpoint,
  excludedCandidate,
  type FilterResult,
  type FilterStage,
} from "./exclusion.ts";
import {
  capabilityExclusionCause,
  type EligibilityCheck,
  eligibilityCheckFor,
  emptyFilterResult,
  exclusionCauseFor,
  filterModel,
} from "./filter.ts";
import type { PlanningContext, PlanRequest } from "./planning-context.ts";
import { excludedByPolicy, POLICY_RULES, type PolicyRule, permitsModel } from "./policy.ts";
import { preferenceExclusionCause } from "./preferences.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import { findUnpermittedModels } from "./restricted-features.ts";
import { routerExclusionCause } from "./router-rules.ts";
import type { RoutingTarget } from "./routing-target.ts";

/** No endpoint is eligible. */
export type PlanRefusal = {
  readonly is: "refused";
  readonly fault: Fault;
  readonly router: string | null;
  /** An endpoint was excluded by the prompt length, which is an estimate. */
  readonly isTooLong: boolean;
  decision(): DecisionRecord;
};

const ENDPOINTS_LISTED_MAX = 8;
const ALTERNATIVES_MAX = 4;

/** The last stage that excluded anything determines the fault, because it emptied the pool. */
export function faultForNoCandidates(check: EligibilityCheck, filtered: FilterResult): Fault {
  const { target, policy } = check.request;
  const name = targetLabel(check.request);
  const exclusions = describeExclusions(filtered);
  const at = (stage: FilterStage) => exclusions.filter((excluded) => excluded.stage === stage);
  const others = () => describeIncapable(check, filtered, exclusions);
  if (at("nodes").length > 0)
    return fault("no_eligible_endpoint", {
      message: `The router ${target.is === "router" ? target.name : name} uses the workspace's own nodes only, and no connected node serves this request. Connect one, or change the router.`,
      param: "model",
    });
  const [belowFloor] = at("quality");
  if (belowFloor !== undefined)
    return noEligibleEndpointFault(
      `The quality floor of the router excludes every endpoint of ${name}`,
      check,
      exclusions,
      others(),
    );
  const [unwantedByHint] = at("hint");
  if (unwantedByHint !== undefined)
    return noEligibleEndpointFault(
      `The preferences in "provider" exclude every endpoint of ${name}`,
      check,
      exclusions,
      others(),
      unwantedByHint.rule,
    );
  const incapable = at("capability");
  const [first] = incapable;
  if (first !== undefined) return withPolicyNote(capabilityFault(check, name, incapable, first), check, filtered);
  const excludedByRule = at("policy");
  if (excludedByRule.length > 0) return policyFault(check, name, excludedByRule, policy);
  if (filtered.forbiddenModels.length > 0)
    return modelNotPermittedFault(filtered.forbiddenModels, findAlternatives(check, policy));
  const unserved = check.request.requirements.unservedFault?.(name);
  if (unserved !== undefined) return unserved;
  const why = [...new Set(filtered.obstacles)].slice(0, 5).join("; ");
  const message =
    target.is === "router"
      ? `No model can be called: ${why === "" ? "no connected provider serves an allowed model on this surface" : why}.`
      : `The model ${name} is in the catalogue but cannot be called: ${why === "" ? "no provider serves it" : why}.`;
  return fault("model_not_found", { message, param: "model" });
}

/** Policy allows these endpoints, and none of them can honour the request: the same fault as without a policy. */
function capabilityFault(
  check: EligibilityCheck,
  name: string,
  incapable: readonly ExcludedEndpoint[],
  first: ExcludedEndpoint,
): Fault {
  const unfit = check.request.requirements.unfitFault?.(incapable.map(({ endpoint }) => endpoint));
  if (unfit !== undefined) return unfit;
  const missing = mostSpecificOf(incapable) ?? first;
  if (missing.contextTokens !== undefined) return contextLengthFault(check.request, name, incapable);
  return missing.fault ?? unsupportedParameterFault(check, name, incapable, missing);
}

/** Adds to a fault of the request what policy excludes, and whether that could have served the request. */
export function withPolicyNote(
  fault: Fault,
  check: EligibilityCheck,
  { excluded, causes, forbiddenModels }: FilterResult,
  verb: "may support" | "support" = "support",
): Fault {
  const rows = excluded.flatMap((row, at) => {
    const cause = causes[at];
    return cause?.stage === "policy" ? [{ row, cause }] : [];
  });
  const capable = rows.filter(({ row }) => capabilityExclusionCause(row, check) === undefined);
  const shown = describeExclusions({
    excluded: (capable.length > 0 ? capable : rows).map(({ row }) => row),
    causes: (capable.length > 0 ? capable : rows).map(({ cause }) => cause),
  });
  const notes = [
    ...(capable.length > 0 ? [`Policy excludes endpoints that ${verb} the request: ${listEndpoints(shown)}.`] : []),
    ...(capable.length === 0 && rows.length > 0
      ? [`Policy excludes other endpoints, which do not support the request either: ${listEndpoints(shown)}.`]
      : []),
    ...(forbiddenModels.length > 0 ? [`Policy does not allow ${listModels(forbiddenModels)}.`] : []),
  ];
  return notes.length === 0 ? fault : fault.reworded({ message: `${fault.message} ${notes.join(" ")}` });
}

/** Missing image input is reported only when no endpoint has another cause; of several limits, the highest one. */
function mostSpecificOf(missing: readonly ExcludedEndpoint[]): ExcludedEndpoint | undefined {
  const first = missing.find(({ fault: known }) => known?.code !== "image_input_not_supported") ?? missing[0];
  const limits = missing.filter(({ rule, limit }) => rule === first?.rule && limit !== undefined);
  return first?.limit === undefined ? first : limits.toSorted((a, b) => (b.limit ?? 0) - (a.limit ?? 0))[0];
}

/** Coding agents match this wording and the two numbers to compact their conversation. */
function contextLengthFault(
  { surface, requirements }: PlanRequest,
  name: string,
  missing: readonly ExcludedEndpoint[],
): Fault {
  const most = Math.max(...missing.map(({ contextTokens }) => contextTokens ?? 0));
  return fault("context_length_exceeded", {
    message: `Prompt is too long: ${requirements.inputTokens} tokens > ${most} maximum, by the gateway's estimate for ${name}. Shorten it, or use a model with a longer context.`,
    param: surface === "responses" ? "input" : "messages",
  });
}

function targetLabel({ target }: PlanRequest): string {
  if (target.is === "model") return target.modelId;
  return target.name === "auto" ? "any model" : target.name;
}

function noEligibleEndpointFault(
  what: string,
  check: EligibilityCheck,
  excluded: readonly ExcludedEndpoint[],
  others: string,
  param = "model",
): Fault {
  const shown = listEndpoints(excluded.filter(({ stage }) => stage !== "capability"));
  const message = `${what}. Excluded: ${shown}. ${others}${describeAlternatives(findAlternatives(check, check.request.policy))}`;
  return fault("no_eligible_endpoint", { message, param });
}

/** Endpoints that only a capability excludes: changing the request may be easier than changing the policy. Not for routers, whose lists are long. */
function describeIncapable(
  check: EligibilityCheck,
  { excluded }: FilterResult,
  exclusions: readonly ExcludedEndpoint[],
): string {
  const { request, preferences } = check;
  if (request.target.is !== "model") return "";
  const incapable = exclusions.filter(({ stage }, at) => {
    const row = excluded[at];
    if (stage !== "capability" || row === undefined) return false;
    return preferences === undefined || preferenceExclusionCause(row, preferences) === undefined;
  });
  return incapable.length === 0 ? "" : `Allowed but not capable: ${listEndpoints(incapable)}. `;
}

/** `implied`: the fault's code already names the rule. */
function listEndpoints(excluded: readonly ExcludedEndpoint[], rules: "named" | "implied" = "named"): string {
  const shown = excluded
    .slice(0, ENDPOINTS_LISTED_MAX)
    .map(({ endpoint, rule, reason }) => `${endpoint.id} (${rules === "named" ? `${rule}: ` : ""}${reason})`);
  const more = excluded.length > ENDPOINTS_LISTED_MAX ? ` and ${excluded.length - ENDPOINTS_LISTED_MAX} more` : "";
  return `${shown.join(", ")}${more}`;
}

/** A single rule is reported by its own code, several by `no_eligible_endpoint`. */
function policyFault(
  check: EligibilityCheck,
  name: string,
  excluded: readonly ExcludedEndpoint[],
  policy: Policy,
): Fault {
  const [first] = excluded;
  const rule = first?.rule ?? "";
  const single = excluded.every((one) => one.rule === rule);
  const code: FaultCode = single && isPolicyRule(rule) ? rule : "no_eligible_endpoint";
  const shown = listEndpoints(excluded, single ? "implied" : "named");
  return fault(code, {
    message: `Policy allows no endpoint of ${name}. Excluded: ${shown}. ${describeAlternatives(findAlternatives(check, policy))} ${describeRequestPolicy(check, excluded)}An admin can change the policy.`,
    param: "model",
  });
}

/** Rules that the request itself set: no admin can change those. */
function describeRequestPolicy(
  { request: { hints } }: EligibilityCheck,
  excluded: readonly ExcludedEndpoint[],
): string {
  const { zeroDataRetention, dataCollection } = hints?.provider ?? {};
  const has = (rule: string) => excluded.some((one) => one.rule === rule);
  const fields = [
    ...(zeroDataRetention === true && has("zero_data_retention_required") ? ["provider.zdr"] : []),
    ...(dataCollection === "deny" && has("no_training_required") ? ["provider.data_collection"] : []),
  ];
  return fields.length === 0 ? "" : `The request itself requires it with ${fields.join(" and ")}. `;
}

function modelNotPermittedFault(models: readonly string[], instead: readonly string[]): Fault {
  return fault("model_not_permitted", {
    message: `Policy does not allow ${listModels(models)}. ${describeAlternatives(instead)} An admin can add to the allowed models.`,
    param: "model",
  });
}

function listModels(models: readonly string[]): string {
  const shown = models.slice(0, ALTERNATIVES_MAX).join(", ");
  const more = models.length > ALTERNATIVES_MAX ? ` and ${models.length - ALTERNATIVES_MAX} more` : "";
  return `the model ${shown}${more}`;
}

function describeAlternatives(models: readonly string[]): string {
  if (models.length === 0) return "No connected endpoint is allowed for this request.";
  return `Allowed for this request: ${models.join(", ")}${models.length === ALTERNATIVES_MAX ? " and possibly more" : ""}.`;
}

/** When endpoints are excluded by different fields, the combination is at fault and not a single field. */
function unsupportedParameterFault(
  check: EligibilityCheck,
  name: string,
  excluded: readonly ExcludedEndpoint[],
  first: ExcludedEndpoint,
): Fault {
  const rules = [...new Set(excluded.map(({ rule }) => rule))].slice(0, ENDPOINTS_LISTED_MAX);
  const isSingle = rules.length === 1;
  const isTooLarge = isSingle && first.code === "invalid_value";
  const [change, why] = isTooLarge
    ? ["Reduce it", `${first.rule} exceeds the limit: ${subjectOf(excluded, first)} ${first.reason}`]
    : isSingle
      ? ["Omit it", `${first.rule} is not supported, because ${subjectOf(excluded, first)} ${first.reason}`]
      : ["Omit one of them", `${rules.join(" and ")} are not supported together by any endpoint`];
  const models = findAlternatives(check, check.request.policy);
  const way =
    models.length === 0
      ? `${change}: no callable endpoint supports this request.`
      : `${change}, or use another model: ${models.join(", ")}${models.length === ALTERNATIVES_MAX ? " and possibly more" : ""}.`;
  const code = (isSingle ? first.code : undefined) ?? "unsupported_parameter";
  return fault(code, { message: `${name}: ${why}. ${way}`, param: first.rule });
}

/** With different limits, `first` has the highest one. */
function subjectOf(excluded: readonly ExcludedEndpoint[], { reason, limit }: ExcludedEndpoint): string {
  const isSame = limit === undefined || excluded.every((one) => one.reason === reason);
  return isSame ? "each endpoint" : "the endpoint with the highest limit";
}

/** A few models that can serve this request under the policy. Computed only for refusals. */
function findAlternatives(check: EligibilityCheck, policy: Policy): readonly string[] {
  const { request, context } = check;
  const under = eligibilityCheckFor({ ...request, policy }, context);
  const found: string[] = [];
  for (const { model, endpoints } of context.pool()) {
    if (found.length === ALTERNATIVES_MAX) break;
    if ((model.sandbox && context.hasRealProvider) || !permitsModel(model.id, policy)) continue;
    const serves = endpoints.some((one) => exclusionCauseFor(one, under) === undefined);
    if (serves) found.push(model.id);
  }
  return found;
}

/** Why the policy in force no longer permits the planned endpoint; undefined when it still does. */
export function recheckRefusal(
  check: EligibilityCheck,
  endpoint: Endpoint,
  policy: Policy,
): RecheckRefusal | undefined {
  const exclusion = excludedByPolicy(endpoint, policy);
  if (exclusion !== undefined) {
    const excluded: ExcludedEndpoint = { endpoint, stage: "policy", ...exclusion };
    return { reason: exclusion.reason, fault: policyFault(check, endpoint.model, [excluded], policy) };
  }
  const { requirements } = check.request;
  const unpermitted =
    requirements.extras === undefined
      ? undefined
      : findUnpermittedModels(endpoint, requirements, policy, check.context.support);
  if (unpermitted !== undefined) return { reason: `it ${unpermitted.reason}`, fault: unpermitted.fault };
  if (permitsModel(endpoint.model, policy)) return undefined;
  const reason = "the policy no longer allows the model";
  return { reason, fault: modelNotPermittedFault([endpoint.model], findAlternatives(check, policy)) };
}

/** Undefined when the router in force still permits the planned attempt. */
export function recheckRouter(
  { request: { target } }: EligibilityCheck,
  attempt: Attempt,
  spec: RouterSpec,
): RecheckRefusal | undefined {
  const cause = routerExclusionCause(attempt, spec);
  if (cause === undefined || target.is !== "router") return undefined;
  const message = `The router ${target.name} changed while the request was being served and excludes every endpoint: ${cause.reason}. Retry, or change the router.`;
  return { reason: cause.reason, fault: fault("no_eligible_endpoint", { message, param: "model" }) };
}

export type RecheckRefusal = { readonly reason: string; readonly fault: Fault };

export function isPolicyRule(rule: string): rule is PolicyRule {
  return POLICY_RULES.some((known) => known === rule);
}

/** A prompt estimated at more than this many context windows is too long by any tokenizer. */
const ESTIMATE_ERROR_FACTOR = 4;

export function refusePlan({ request }: EligibilityCheck, filtered: FilterResult, refusal: Fault): PlanRefusal {
  const decision = () => toRefusedDecision(request, filtered, refusal.message);
  const windowMax = request.requirements.inputTokens / ESTIMATE_ERROR_FACTOR;
  const isTooLong = filtered.causes.some(
    ({ contextTokens }) => contextTokens !== undefined && contextTokens >= windowMax,
  );
  const router = request.target.is === "router" ? request.target.name : null;
  return { is: "refused", fault: refusal, router, isTooLong, decision };
}

/** A model that is expected back is refused by policy first; otherwise the caller gets a retryable error. */
export function planForAbsentModel(
  check: EligibilityCheck,
  { modelId, candidates }: Extract<RoutingTarget, { is: "model" }>,
): PlanRefusal {
  const filtered = emptyFilterResult();
  if (candidates !== undefined) {
    const permitted = candidates.filter((id) => permitsModel(id, check.request.policy));
    return refusePlan(check, filtered, ambiguousModelFault(modelId, permitted));
  }
  const absent = check.context.absentModel?.(modelId);
  if (absent === undefined) return refusePlan(check, filtered, unknownModelFault(modelId, check.context));
  filterModel(modelId, absent.reachability, check, filtered);
  const isEligible = filtered.eligibleCount > 0;
  return refusePlan(
    check,
    filtered,
    isEligible ? fault("upstream_error", { message: absent.reason }) : faultForNoCandidates(check, filtered),
  );
}

/** Only candidates that the policy allows are named. */
export function ambiguousModelFault(name: string, permitted: readonly string[]): Fault {
  const choice =
    permitted.length === 0
      ? "The policy allows none of them. GET /v1/models lists the models that this key can use."
      : `Send one of these ids: ${permitted.join(", ")}.`;
  return fault("model_not_found", {
    message: `"${name.slice(0, 128)}" is the name of several models. ${choice}`,
    param: "model",
  });
}

function unknownModelFault(modelId: string, context: PlanningContext): Fault {
  const suggestion = suggestModel(modelId, context);
  return fault("model_not_found", {
    message: `There is no model "${modelId.slice(0, 128)}".${suggestion === undefined ? "" : ` Did you mean "${suggestion}"?`} GET /v1/models lists the models that this key can use.`,
    param: "model",
  });
}

/** People type capitals and the wrong creator. */
function suggestModel(modelId: string, { snapshot }: PlanningContext): string | undefined {
  const requested = modelId.trim().toLowerCase();
  if (requested === "auto" || snapshot.models.has(requested)) return requested;
  const name = requested.slice(requested.lastIndexOf("/") + 1);
  return name === "" ? undefined : snapshot.models.keys().find((id) => id.endsWith(`/${name}`));
}

function toRefusedDecision(request: PlanRequest, filtered: FilterResult, reason: string): DecisionRecord {
  return {
    candidates: describeExclusions(filtered).map(excludedCandidate),
    order: [],
    reason,
    ...routerFields(request),
  };
}

export function routerNotFound(requested: string): Fault {
  return fault("router_not_found", {
    message: `There is no router "${requested.slice(0, 128)}" in this workspace. Send a model id or "auto".`,
    param: "model",
  });
}

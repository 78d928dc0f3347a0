import { type Fault, type FaultCode, fault } from "../../contract/faults.ts";
import type { Policy } from "../tenancy/policy.ts";
import type { RouterSpec } from "../tenancy/router.ts";
import type { Attempt } from "./attempt.ts";
import { findUnpermittedModels } from "./capability.ts";
import { describeExclusions, type ExcludedEndpoint, type FilterStage } from "./exclusion.ts";
import {
  type EligibilityCheck,
  eligibilityCheckFor,
  exclusionCauseFor,
  type FilterResult,
  type PlanRequest,
  routerExclusionCause,
} from "./filter.ts";
import { excludedByPolicy, isPolicyRule, permitsModel } from "./policy.ts";
import { preferenceExclusionCause } from "./preferences.ts";

const ENDPOINTS_LISTED_MAX = 8;
const ALTERNATIVES_MAX = 4;

/** Nothing passed: the first stage that emptied the pool answers, which is the last one at which anything fell. */
export function faultForNoCandidates(judge: EligibilityCheck, sifted: FilterResult): Fault {
  const { target, policy } = judge.request;
  const name = targetLabel(judge.request);
  const told = describeExclusions(sifted);
  const at = (stage: FilterStage) => told.filter((fallen) => fallen.stage === stage);
  const others = () => describeIncapable(judge, sifted, told);
  if (at("nodes").length > 0)
    return fault("no_eligible_endpoint", {
      message: `The router ${target.is === "router" ? target.name : name} wants the workspace's own nodes only, and none that is connected serves this request. Connect one, or change the router.`,
      param: "model",
    });
  const [low] = at("quality");
  if (low !== undefined)
    return noEligibleEndpointFault(
      `The quality floor of the router leaves no endpoint of ${name}`,
      judge,
      told,
      others(),
    );
  const [unwanted] = at("wish");
  if (unwanted !== undefined)
    return noEligibleEndpointFault(
      `The preferences in "provider" leave no endpoint of ${name}`,
      judge,
      told,
      others(),
      unwanted.rule,
    );
  const excluded = at("policy");
  if (excluded.length > 0) return policyFault(judge, name, excluded, policy, others());
  const short = mostSpecificOf(at("capability"));
  if (short?.contextTokens !== undefined) return contextLengthFault(judge.request, name, at("capability"));
  if (short?.fault !== undefined) return short.fault;
  if (short !== undefined) return unsupportedParameterFault(judge, name, at("capability"), short);
  if (sifted.forbiddenModels.length > 0)
    return modelNotPermittedFault(sifted.forbiddenModels, findAlternatives(judge, policy));
  const unserved = judge.request.requirements.unservedFault?.();
  if (unserved !== undefined) return unserved;
  const why = [...new Set(sifted.obstacles)].slice(0, 5).join("; ");
  const message =
    target.is === "router"
      ? `No model can be called: ${why === "" ? "no connected provider serves one that is allowed on this surface" : why}.`
      : `The model ${name} is in the catalogue but cannot be called here: ${why === "" ? "no provider serves it" : why}.`;
  return fault("model_not_found", { message, param: "model" });
}

/** That no endpoint takes images is told only where none does. */
function mostSpecificOf(short: readonly ExcludedEndpoint[]): ExcludedEndpoint | undefined {
  return short.find(({ fault: told }) => told?.code !== "image_input_not_supported") ?? short[0];
}

/** Agents look for these words, and for the two numbers, to shorten their conversation and go on. */
function contextLengthFault(
  { surface, requirements }: PlanRequest,
  name: string,
  short: readonly ExcludedEndpoint[],
): Fault {
  const most = Math.max(...short.map(({ contextTokens }) => contextTokens ?? 0));
  return fault("context_length_exceeded", {
    message: `Prompt is too long: ${requirements.inputTokens} tokens > ${most} maximum, by the gateway's estimate for ${name}. Shorten it, or choose a model that takes more.`,
    param: surface === "responses" ? "input" : "messages",
  });
}

function targetLabel({ target }: PlanRequest): string {
  if (target.is === "model") return target.modelId;
  return target.name === "auto" ? "any model" : target.name;
}

function noEligibleEndpointFault(
  what: string,
  judge: EligibilityCheck,
  fallen: readonly ExcludedEndpoint[],
  others: string,
  param = "model",
): Fault {
  const shown = listEndpoints(fallen.filter(({ stage }) => stage !== "capability"));
  const message = `${what}. Excluded: ${shown}. ${others}${describeAlternatives(findAlternatives(judge, judge.request.policy))}`;
  return fault("no_eligible_endpoint", { message, param });
}

/**
 * Endpoints of the model asked for that nothing but the request itself keeps out: to change the request may be easier
 * than what excludes the others. Of all models of a router there would be far too many.
 */
function describeIncapable(
  judge: EligibilityCheck,
  { excluded }: FilterResult,
  told: readonly ExcludedEndpoint[],
): string {
  const { request, policyVerdicts, preferences } = judge;
  if (request.target.is !== "model") return "";
  const able = told.filter(({ stage }, at) => {
    const row = excluded[at];
    if (stage !== "capability" || row === undefined || policyVerdicts.exclusionCauseFor(row.policyClass) !== undefined)
      return false;
    return preferences === undefined || preferenceExclusionCause(row, preferences) === undefined;
  });
  return able.length === 0 ? "" : `Not excluded, but not able: ${listEndpoints(able)}. `;
}

/** The rule is said with each unless the answer's own code says it. */
function listEndpoints(fallen: readonly ExcludedEndpoint[], rules: "named" | "implied" = "named"): string {
  const shown = fallen
    .slice(0, ENDPOINTS_LISTED_MAX)
    .map(({ endpoint, rule, reason }) => `${endpoint.id} (${rules === "named" ? `${rule}: ` : ""}${reason})`);
  const more = fallen.length > ENDPOINTS_LISTED_MAX ? ` and ${fallen.length - ENDPOINTS_LISTED_MAX} more` : "";
  return `${shown.join(", ")}${more}`;
}

/** One rule answers with its own code, several together with one that says so. */
function policyFault(
  judge: EligibilityCheck,
  name: string,
  excluded: readonly ExcludedEndpoint[],
  policy: Policy,
  others: string,
): Fault {
  const [first] = excluded;
  const rule = first?.rule ?? "";
  const single = excluded.every((one) => one.rule === rule);
  const code: FaultCode = single && isPolicyRule(rule) ? rule : "no_eligible_endpoint";
  const shown = listEndpoints(excluded, single ? "implied" : "named");
  return fault(code, {
    message: `Policy allows no endpoint of ${name}. Excluded: ${shown}. ${others}${describeAlternatives(findAlternatives(judge, policy))} ${describeRequestPolicy(judge, excluded)}An admin can change the policy.`,
    param: "model",
  });
}

/** A caller who is kept out by what the request itself demands is told so: no admin can help there. */
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
  return fields.length === 0 ? "" : `The request itself demands it with ${fields.join(" and ")}. `;
}

function modelNotPermittedFault(models: readonly string[], instead: readonly string[]): Fault {
  const shown = models.slice(0, ALTERNATIVES_MAX).join(", ");
  const more = models.length > ALTERNATIVES_MAX ? ` and ${models.length - ALTERNATIVES_MAX} more` : "";
  return fault("model_not_permitted", {
    message: `Policy does not allow the model ${shown}${more}. ${describeAlternatives(instead)} An admin can add to the allowed models.`,
    param: "model",
  });
}

function describeAlternatives(models: readonly string[]): string {
  if (models.length === 0) return "Nothing that is connected here would be allowed for this request.";
  return `Allowed for this request: ${models.join(", ")}${models.length === ALTERNATIVES_MAX ? " and maybe more" : ""}.`;
}

/** Endpoints that fall for different fields can each do what the others cannot: then no single field is at fault. */
function unsupportedParameterFault(
  judge: EligibilityCheck,
  name: string,
  fallen: readonly ExcludedEndpoint[],
  first: ExcludedEndpoint,
): Fault {
  const rules = [...new Set(fallen.map(({ rule }) => rule))].slice(0, ENDPOINTS_LISTED_MAX);
  const [it, why] =
    rules.length === 1
      ? ["it", `${first.rule} cannot be honoured, because each endpoint ${first.reason}`]
      : ["one of them", `${rules.join(" and ")} cannot be honoured together, because no endpoint takes all of them`];
  const models = findAlternatives(judge, judge.request.policy);
  const way =
    models.length === 0
      ? `Leave ${it} out: nothing that can be called here takes this request as it is.`
      : `Leave ${it} out, or choose another model: ${models.join(", ")}${models.length === ALTERNATIVES_MAX ? " and maybe more" : ""}.`;
  const code = (rules.length === 1 ? first.code : undefined) ?? "unsupported_parameter";
  return fault(code, { message: `${name}: ${why}. ${way}`, param: first.rule });
}

/** A few models that would have served this very request under a policy. Only ever looked for when it was refused. */
function findAlternatives(judge: EligibilityCheck, policy: Policy): readonly string[] {
  const { request, context } = judge;
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

/** An endpoint that was planned and that the policy in force now keeps out; undefined when it may be called. */
export function recheckPolicy(
  judge: EligibilityCheck,
  endpoint: ExcludedEndpoint["endpoint"],
  policy: Policy,
): RecheckRefusal | undefined {
  const exclusion = excludedByPolicy(endpoint, policy);
  if (exclusion !== undefined) {
    const fallen: ExcludedEndpoint = { endpoint, stage: "policy", ...exclusion };
    return { reason: exclusion.reason, fault: policyFault(judge, endpoint.model, [fallen], policy, "") };
  }
  const unnamed = findUnpermittedModels(endpoint, judge.request.requirements, policy, judge.context.support);
  if (unnamed !== undefined) return { reason: `it ${unnamed.reason}`, fault: unnamed.fault };
  if (permitsModel(endpoint.model, policy)) return undefined;
  const reason = "the policy no longer allows the model";
  return { reason, fault: modelNotPermittedFault([endpoint.model], findAlternatives(judge, policy)) };
}

/** The same by the router in force now, for what is no matter of policy. */
export function recheckRouter(
  { request: { target } }: EligibilityCheck,
  attempt: Attempt,
  spec: RouterSpec,
): RecheckRefusal | undefined {
  const cause = routerExclusionCause(attempt, spec);
  if (cause === undefined || target.is !== "router") return undefined;
  const message = `The router ${target.name} was changed while the request was on its way and leaves no endpoint: ${cause.reason}. Send it again, or change the router.`;
  return { reason: cause.reason, fault: fault("no_eligible_endpoint", { message, param: "model" }) };
}

export type RecheckRefusal = { readonly reason: string; readonly fault: Fault };

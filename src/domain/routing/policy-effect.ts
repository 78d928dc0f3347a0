import type { FaultCode } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { OPEN_POLICY, type Policy, type PolicyRuleName } from "../tenancy/policy.ts";
import { excludedByPolicy, type PolicyExclusion, permitsModel } from "./policy.ts";

export type ModelOffer = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

/** The rule that excludes an endpoint, or its model. */
export type PolicyVerdict = { readonly rule: PolicyRuleName; readonly code: FaultCode; readonly reason: string };

export type EndpointEffect = {
  readonly endpoint: Endpoint;
  readonly before: PolicyVerdict | undefined;
  readonly after: PolicyVerdict | undefined;
};

/** Whether a model is reachable under both policies, only the new one, only the old one, or neither. */
export type ModelFate = "stays" | "gained" | "lost" | "out";

export type ModelEffect = {
  readonly model: Model;
  readonly fate: ModelFate;
  readonly endpoints: readonly EndpointEffect[];
};

export type EffectCounts = { models: number; endpoints: number };

export type RuleEffect = Pick<PolicyVerdict, "rule" | "code"> & {
  /** Endpoints that this rule excludes first, and models without any endpoint left of which it excludes one. */
  readonly excluded: EffectCounts;
  /** What becomes reachable when only this rule is removed. */
  readonly regained: EffectCounts;
};

export type PolicyEffect = {
  readonly models: readonly ModelEffect[];
  readonly all: EffectCounts;
  readonly before: EffectCounts;
  readonly after: EffectCounts;
  readonly rules: readonly RuleEffect[];
};

const POLICY_FIELDS: Readonly<Record<PolicyExclusion["rule"], PolicyRuleName>> = {
  sovereignty_floor_not_met: "floor",
  compute_country_not_allowed: "countries",
  zero_data_retention_required: "zeroDataRetention",
  no_training_required: "noTraining",
  provider_blocked: "blockedProviders",
  simulated_provider_required: "testKeysSimulated",
};

/** Undefined: the policy allows the endpoint. */
export function policyVerdictFor(model: Model, endpoint: Endpoint, policy: Policy): PolicyVerdict | undefined {
  if (!permitsModel(model.id, policy))
    return {
      rule: "allowedModels",
      code: "model_not_permitted",
      reason: `${model.id} is not among the allowed models`,
    };
  const excluded = excludedByPolicy(endpoint, policy);
  return excluded === undefined
    ? undefined
    : { rule: POLICY_FIELDS[excluded.rule], code: excluded.rule, reason: excluded.reason };
}

/** Compares a proposed policy with the one in force. Pure. */
export function policyEffect(offers: readonly ModelOffer[], before: Policy, after: Policy): PolicyEffect {
  const models = offers.map(({ model, endpoints }): ModelEffect => {
    const effects = endpoints.map((endpoint) => ({
      endpoint,
      before: policyVerdictFor(model, endpoint, before),
      after: policyVerdictFor(model, endpoint, after),
    }));
    return { model, fate: fateOf(effects), endpoints: effects };
  });
  return {
    models,
    all: countMatching(models, () => true),
    before: countMatching(models, (endpoint) => endpoint.before === undefined),
    after: countMatching(models, (endpoint) => endpoint.after === undefined),
    rules: effectsByRule(models, after),
  };
}

function fateOf(endpoints: readonly EndpointEffect[]): ModelFate {
  const wasReachable = endpoints.some((endpoint) => endpoint.before === undefined);
  const isReachable = endpoints.some((endpoint) => endpoint.after === undefined);
  if (wasReachable) return isReachable ? "stays" : "lost";
  return isReachable ? "gained" : "out";
}

function countMatching(models: readonly ModelEffect[], isCounted: (endpoint: EndpointEffect) => boolean): EffectCounts {
  const counts: EffectCounts = { models: 0, endpoints: 0 };
  for (const { endpoints } of models) {
    const count = endpoints.filter(isCounted).length;
    counts.endpoints += count;
    if (count > 0) counts.models += 1;
  }
  return counts;
}

/** Every rule with an effect, the largest first. */
function effectsByRule(models: readonly ModelEffect[], policy: Policy): RuleEffect[] {
  const byRule = new Map<PolicyRuleName, { code: FaultCode; excluded: EffectCounts }>();
  for (const { endpoints } of models) {
    const isLeft = endpoints.some(({ after }) => after === undefined);
    const counted = new Set<PolicyRuleName>();
    for (const { after } of endpoints) {
      if (after === undefined) continue;
      const effect = byRule.get(after.rule) ?? { code: after.code, excluded: { models: 0, endpoints: 0 } };
      byRule.set(after.rule, effect);
      effect.excluded.endpoints += 1;
      if (!isLeft && !counted.has(after.rule)) effect.excluded.models += 1;
      counted.add(after.rule);
    }
  }
  return [...byRule]
    .map(([rule, { code, excluded }]) => ({ rule, code, excluded, regained: regainedWithout(models, policy, rule) }))
    .toSorted((a, b) => b.excluded.endpoints - a.excluded.endpoints);
}

function regainedWithout(models: readonly ModelEffect[], policy: Policy, rule: PolicyRuleName): EffectCounts {
  const relaxed: Policy = { ...policy, [rule]: OPEN_POLICY[rule] };
  const regained: EffectCounts = { models: 0, endpoints: 0 };
  for (const { model, endpoints } of models) {
    const excludedEndpoints = endpoints.filter(({ after }) => after !== undefined);
    const returned = excludedEndpoints.filter(
      ({ endpoint }) => policyVerdictFor(model, endpoint, relaxed) === undefined,
    ).length;
    regained.endpoints += returned;
    if (returned > 0 && excludedEndpoints.length === endpoints.length) regained.models += 1;
  }
  return regained;
}

import type { FaultCode } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { OPEN_POLICY, type Policy } from "../tenancy/policy.ts";
import { excludedByPolicy, type PolicyExclusion, permitsModel } from "./policy.ts";

export type ModelOffer = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

/** The rule that excludes an endpoint, or its model. */
type PolicyVerdict = { readonly rule: keyof Policy; readonly code: FaultCode; readonly reason: string };

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

const POLICY_FIELDS: Readonly<Record<PolicyExclusion["rule"], keyof Policy>> = {
  sovereignty_floor_not_met: "floor",
  compute_country_not_allowed: "countries",
  zero_data_retention_required: "zeroDataRetention",
  no_training_required: "noTraining",
  provider_blocked: "blockedProviders",
};

function policyVerdictFor(model: Model, endpoint: Endpoint, policy: Policy): PolicyVerdict | undefined {
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

function countMatching(models: readonly ModelEffect[], counts: (endpoint: EndpointEffect) => boolean): EffectCounts {
  const size: EffectCounts = { models: 0, endpoints: 0 };
  for (const { endpoints } of models) {
    const count = endpoints.filter(counts).length;
    size.endpoints += count;
    if (count > 0) size.models += 1;
  }
  return size;
}

/** Every rule with an effect, the largest first. */
function effectsByRule(models: readonly ModelEffect[], policy: Policy): RuleEffect[] {
  const known = new Map<keyof Policy, { code: FaultCode; out: EffectCounts }>();
  for (const { endpoints } of models) {
    const isLeft = endpoints.some(({ after }) => after === undefined);
    const counted = new Set<keyof Policy>();
    for (const { after } of endpoints) {
      if (after === undefined) continue;
      const effect = known.get(after.rule) ?? { code: after.code, out: { models: 0, endpoints: 0 } };
      known.set(after.rule, effect);
      effect.out.endpoints += 1;
      if (!isLeft && !counted.has(after.rule)) effect.out.models += 1;
      counted.add(after.rule);
    }
  }
  return [...known]
    .map(([rule, { code, out }]) => ({ rule, code, out, back: regainedWithout(models, policy, rule) }))
    .toSorted((a, b) => b.out.endpoints - a.out.endpoints);
}

function regainedWithout(models: readonly ModelEffect[], policy: Policy, rule: keyof Policy): EffectCounts {
  const relaxed: Policy = { ...policy, [rule]: OPEN_POLICY[rule] };
  const back: EffectCounts = { models: 0, endpoints: 0 };
  for (const { model, endpoints } of models) {
    const excludedEndpoints = endpoints.filter(({ after }) => after !== undefined);
    const returned = excludedEndpoints.filter(
      ({ endpoint }) => policyVerdictFor(model, endpoint, relaxed) === undefined,
    ).length;
    back.endpoints += returned;
    if (returned > 0 && excludedEndpoints.length === endpoints.length) back.models += 1;
  }
  return back;
}

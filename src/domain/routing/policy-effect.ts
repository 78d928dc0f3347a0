import type { FaultCode } from "../../contract/faults.ts";
import type { Endpoint, Model } from "../catalogue/catalogue.ts";
import { OPEN_POLICY, type Policy } from "../tenancy/policy.ts";
import { excludedByPolicy, type PolicyExclusion, permitsModel } from "./policy.ts";

/** A model with the endpoints that are looked at. */
export type ModelOffer = { readonly model: Model; readonly endpoints: readonly Endpoint[] };

/** Why a policy keeps an endpoint out: by a rule on endpoints, or because its model is not allowed. */
type PolicyVerdict = { readonly rule: keyof Policy; readonly code: FaultCode; readonly reason: string };

export type EndpointEffect = {
  readonly endpoint: Endpoint;
  readonly before: PolicyVerdict | undefined;
  readonly after: PolicyVerdict | undefined;
};

/** What becomes of a model: it can be reached under both policies, under one of them, or under neither. */
export type ModelFate = "stays" | "gained" | "lost" | "out";

export type ModelEffect = {
  readonly model: Model;
  readonly fate: ModelFate;
  readonly endpoints: readonly EndpointEffect[];
};

export type EffectCounts = { models: number; endpoints: number };

/** What one rule does. */
export type RuleEffect = Pick<PolicyVerdict, "rule" | "code"> & {
  /** Endpoints that fall by it first, and models that have nothing left and fell at least once by it. */
  readonly excluded: EffectCounts;
  /** What would be there again if this rule alone were lifted. */
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

/** In the words of the one place that judges. */
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

/** What a policy would let through of what there is, beside what the one in force lets through. Pure. */
export function policyEffect(offers: readonly ModelOffer[], before: Policy, after: Policy): PolicyEffect {
  const models = offers.map(({ model, endpoints }): ModelEffect => {
    const judged = endpoints.map((endpoint) => ({
      endpoint,
      before: policyVerdictFor(model, endpoint, before),
      after: policyVerdictFor(model, endpoint, after),
    }));
    return { model, fate: fateOf(judged), endpoints: judged };
  });
  return {
    models,
    all: countMatching(models, () => true),
    before: countMatching(models, (one) => one.before === undefined),
    after: countMatching(models, (one) => one.after === undefined),
    rules: effectsByRule(models, after),
  };
}

function fateOf(endpoints: readonly EndpointEffect[]): ModelFate {
  const was = endpoints.some((one) => one.before === undefined);
  const is = endpoints.some((one) => one.after === undefined);
  if (was) return is ? "stays" : "lost";
  return is ? "gained" : "out";
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

/** Every rule that keeps something out, the one that keeps out most first. */
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
  const looser: Policy = { ...policy, [rule]: OPEN_POLICY[rule] };
  const back: EffectCounts = { models: 0, endpoints: 0 };
  for (const { model, endpoints } of models) {
    const fallen = endpoints.filter(({ after }) => after !== undefined);
    const returned = fallen.filter(({ endpoint }) => policyVerdictFor(model, endpoint, looser) === undefined).length;
    back.endpoints += returned;
    if (returned > 0 && fallen.length === endpoints.length) back.models += 1;
  }
  return back;
}

import { OPEN_POLICY, type Policy, type PolicyRuleName } from "./policy.ts";

/** The layers that can add rules to a request's policy. */
export type PolicySource = "workspace" | "key" | "router" | "request";

export type PolicyLayer = { readonly from: PolicySource; readonly policy: Partial<Policy> | null | undefined };

/** A rule in force and the layers that contribute to it. */
export type PolicyRuleSource = { readonly rule: PolicyRuleName; readonly from: readonly PolicySource[] };

const RULES = [
  "floor",
  "countries",
  "zeroDataRetention",
  "noTraining",
  "blockedProviders",
  "allowedModels",
  "ownNodesExempt",
  "testKeysSimulated",
  "parameters",
] as const satisfies readonly PolicyRuleName[];

/** The layers behind each rule of a combined policy. */
export function policyRuleSources(effective: Policy, layers: readonly PolicyLayer[]): PolicyRuleSource[] {
  return RULES.flatMap((rule) => {
    const from = layers.flatMap((layer) => (contributesRule(layer.policy ?? {}, rule, effective) ? [layer.from] : []));
    return from.length === 0 ? [] : [{ rule, from }];
  });
}

/** Of several floors only the strictest contributes. */
function contributesRule(policy: Partial<Policy>, rule: PolicyRuleName, effective: Policy): boolean {
  const value = policy[rule];
  if (rule === "floor") return value !== null && value === effective.floor;
  if (rule === "parameters") return value != null && value === effective.parameters;
  // Only test keys are restricted, so the rule is not in force for a live key.
  if (rule === "testKeysSimulated") return value === true && effective.simulatedOnly === true;
  if (rule === "blockedProviders") return (policy.blockedProviders?.length ?? 0) > 0;
  return value !== undefined && value !== OPEN_POLICY[rule];
}

import { OPEN_POLICY, type Policy } from "./policy.ts";

/** Who can demand something of the endpoints of a request. */
export type PolicySource = "workspace" | "key" | "router" | "request";

export type PolicyLayer = { readonly from: PolicySource; readonly policy: Partial<Policy> | null | undefined };

/** One rule that is in force, and whose it is; where lists meet, all that wrote one. */
export type PolicyRuleSource = { readonly rule: keyof Policy; readonly from: readonly PolicySource[] };

const RULES = [
  "floor",
  "countries",
  "zeroDataRetention",
  "noTraining",
  "blockedProviders",
  "allowedModels",
] as const satisfies readonly (keyof Policy)[];

/** Where the rules of a policy that was put together from layers come from. */
export function policyRuleSources(effective: Policy, layers: readonly PolicyLayer[]): PolicyRuleSource[] {
  return RULES.flatMap((rule) => {
    const from = layers.flatMap((layer) => (contributesRule(layer.policy ?? {}, rule, effective) ? [layer.from] : []));
    return from.length === 0 ? [] : [{ rule, from }];
  });
}

/** Of several floors only the strictest says anything. */
function contributesRule(policy: Partial<Policy>, rule: keyof Policy, effective: Policy): boolean {
  const value = policy[rule];
  if (rule === "floor") return value !== null && value === effective.floor;
  if (rule === "blockedProviders") return (policy.blockedProviders?.length ?? 0) > 0;
  return value !== undefined && value !== OPEN_POLICY[rule];
}

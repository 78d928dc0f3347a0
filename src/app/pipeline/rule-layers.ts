import type { Policy } from "../../domain/tenancy/policy.ts";
import type { RuleLayer } from "./content-inspection.ts";
import type { PlanningDeps, PlanningRequest } from "./planned-request.ts";

/** For the message of a refusal: which layer of the policy `own` added a rule. `routed` adds the router's rules. */
export function ruleLayers(
  { policyOf }: Pick<PlanningDeps, "policyOf">,
  { workspace: { id }, keyId }: PlanningRequest,
  own: Policy,
  routed: (ofKey: Policy) => Policy,
): readonly RuleLayer[] {
  const ofKey = policyOf(id, keyId);
  return [
    { from: "workspace", rules: policyOf(id, null)?.dataClasses },
    { from: "key", rules: ofKey?.dataClasses },
    { from: "router", rules: ofKey && routed(ofKey).dataClasses },
    { from: "request", rules: own.dataClasses },
  ];
}

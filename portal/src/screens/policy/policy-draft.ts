import type { ApiResponse, Args } from "../../api/client.ts";
import { countryName } from "../../format/country.ts";

export type Policy = ApiResponse<"manageShowPolicy">;
export type Preview = ApiResponse<"managePreviewPolicy">;
export type RuleName = Preview["rules"][number]["rule"];

/** Only the changed rules, so that concurrent changes to other rules are kept. */
export type PolicyChange = Partial<Policy>;

export function changeOf(current: Policy, draft: Policy): PolicyChange {
  const isChanged = (rule: RuleName) => canonicalText(current[rule]) !== canonicalText(draft[rule]);
  return Object.fromEntries(RULES.filter(isChanged).map((rule) => [rule, draft[rule]]));
}

/** The request body; null removes a rule. */
export function patchOf({ floor, ...rest }: PolicyChange): NonNullable<Args<"manageChangePolicy">["body"]> {
  return floor === undefined ? rest : { ...rest, floor: floor ?? "none" };
}

/** An allow list must not be empty. */
export function problemsOf({ countries, allowed_models }: Policy): { countries?: string; allowed_models?: string } {
  return {
    ...(countries?.length === 0 ? { countries: "Select at least one country, or allow all countries." } : {}),
    ...(allowed_models?.length === 0 ? { allowed_models: "Select at least one model, or allow all models." } : {}),
  };
}

export const RULE_LABELS: Readonly<Record<RuleName, string>> = {
  floor: "Sovereignty floor",
  countries: "Compute countries",
  zero_data_retention: "Zero data retention",
  no_training: "No training",
  blocked_providers: "Blocked providers",
  allowed_models: "Allowed models",
  own_nodes: "Own nodes",
  test_keys: "Test keys",
  parameters: "Parameters",
};

const RULES = Object.keys(RULE_LABELS).filter(isRule);

function isRule(name: string): name is RuleName {
  return name in RULE_LABELS;
}

export type Difference = { readonly rule: RuleName; readonly before: string; readonly after: string };

export function differencesOf(before: Policy, after: Policy): Difference[] {
  return RULES.flatMap((rule) => {
    if (canonicalText(before[rule]) === canonicalText(after[rule])) return [];
    return [{ rule, before: ruleText(before, rule), after: ruleText(after, rule) }];
  });
}

/** Sorts lists, as their order has no meaning. */
function canonicalText(value: Policy[RuleName]): string {
  return JSON.stringify(Array.isArray(value) ? value.toSorted() : value);
}

const NAMED_MAX = 4;

function ruleText(policy: Policy, rule: RuleName): string {
  switch (rule) {
    case "floor":
      return policy.floor ?? "None";
    case "countries":
      return policy.countries === null ? "All countries" : shortList(policy.countries.map(countryName), "countries");
    case "allowed_models":
      return policy.allowed_models === null ? "All models" : shortList(policy.allowed_models, "models");
    case "blocked_providers":
      return policy.blocked_providers.length === 0 ? "None" : shortList(policy.blocked_providers, "providers");
    case "zero_data_retention":
    case "no_training":
      return policy[rule] ? "Required" : "Not required";
    case "own_nodes":
      return policy.own_nodes === "exempt" ? "Exempt from the floor" : "Subject to the floor";
    case "test_keys":
      return policy.test_keys === "simulated" ? "Simulated providers only" : "All providers";
    case "parameters":
      return policy.parameters === "lenient" ? "Lenient" : "Strict";
  }
}

function shortList(names: readonly string[], of: string): string {
  return names.length <= NAMED_MAX ? names.join(", ") : `${names.length} ${of}`;
}

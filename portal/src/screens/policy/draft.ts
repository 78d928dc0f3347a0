import type { ApiResponse, Args } from "../../api/client.ts";
import { countryName } from "../../format/country.ts";

export type Policy = ApiResponse<"manageShowPolicy">;
export type Preview = ApiResponse<"managePreviewPolicy">;
export type RuleName = Preview["rules"][number]["rule"];

/** Rules that are to be others than those in force. What it does not name stays, whoever changes it meanwhile. */
export type Change = Partial<Policy>;

export function changeOf(inForce: Policy, draft: Policy): Change {
  const isOther = (rule: RuleName) => textOf(inForce[rule]) !== textOf(draft[rule]);
  return Object.fromEntries(RULES.filter(isOther).map((rule) => [rule, draft[rule]]));
}

/** As it is sent: null lifts a rule. */
export function patchOf({ floor, ...rest }: Change): NonNullable<Args<"manageChangePolicy">["body"]> {
  return floor === undefined ? rest : { ...rest, floor: floor ?? "none" };
}

/** What cannot be meant: a list that allows only what is on it, with nothing on it. */
export function problemsOf({ countries, allowed_models }: Policy): { countries?: string; allowed_models?: string } {
  return {
    ...(countries?.length === 0 ? { countries: "Choose at least one country, or allow every country." } : {}),
    ...(allowed_models?.length === 0 ? { allowed_models: "Choose at least one model, or allow every model." } : {}),
  };
}

export const RULE_WORDS: Readonly<Record<RuleName, string>> = {
  floor: "Sovereignty floor",
  countries: "Compute countries",
  zero_data_retention: "Zero data retention",
  no_training: "No training",
  blocked_providers: "Blocked providers",
  allowed_models: "Allowed models",
};

const RULES = Object.keys(RULE_WORDS).filter(isRule);

function isRule(name: string): name is RuleName {
  return name in RULE_WORDS;
}

export type Difference = { readonly rule: RuleName; readonly before: string; readonly after: string };

/** What is different, rule by rule, in words. */
export function differencesOf(before: Policy, after: Policy): Difference[] {
  return RULES.flatMap((rule) => {
    if (textOf(before[rule]) === textOf(after[rule])) return [];
    return [{ rule, before: saidOf(before, rule), after: saidOf(after, rule) }];
  });
}

/** Lists in one order: the order in which they were chosen means nothing. */
function textOf(value: Policy[RuleName]): string {
  return JSON.stringify(Array.isArray(value) ? value.toSorted() : value);
}

const NAMED_MAX = 4;

function saidOf(policy: Policy, rule: RuleName): string {
  switch (rule) {
    case "floor":
      return policy.floor ?? "none";
    case "countries":
      return policy.countries === null ? "every country" : shortList(policy.countries.map(countryName), "countries");
    case "allowed_models":
      return policy.allowed_models === null ? "every model" : shortList(policy.allowed_models, "models");
    case "blocked_providers":
      return policy.blocked_providers.length === 0 ? "none" : shortList(policy.blocked_providers, "providers");
    case "zero_data_retention":
    case "no_training":
      return policy[rule] ? "required" : "not required";
  }
}

function shortList(names: readonly string[], of: string): string {
  return names.length <= NAMED_MAX ? names.join(", ") : `${names.length} ${of}`;
}

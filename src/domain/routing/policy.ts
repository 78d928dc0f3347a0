import type { FaultCode } from "../../contract/faults.ts";
import type { Endpoint, Sovereignty } from "../catalogue/catalogue.ts";
import { levelRank, ownNodeFloor, type Policy } from "../tenancy/policy.ts";
import { modelSetOf } from "./model-set.ts";

/** The rule that excludes an endpoint, with a reason for the caller. */
export type PolicyExclusion = { readonly rule: PolicyRule; readonly reason: string };

export const POLICY_RULES = [
  "sovereignty_floor_not_met",
  "compute_country_not_allowed",
  "zero_data_retention_required",
  "no_training_required",
  "provider_blocked",
  "simulated_provider_required",
] as const satisfies readonly FaultCode[];
export type PolicyRule = (typeof POLICY_RULES)[number];

/** The facts of an endpoint that policy reads. Endpoints with equal facts get equal verdicts. */
export type PolicyFacts = {
  readonly provider: Endpoint["provider"];
  /** The endpoint is simulated. */
  readonly sandbox: boolean;
  /** A machine of the workspace; absent: a provider. */
  readonly ownNode?: Endpoint["ownNode"];
  readonly sovereignty: Pick<
    Sovereignty,
    "level" | "countries" | "countriesKind" | "zeroDataRetention" | "trainsOnData"
  >;
};

/**
 * The single policy decision: whether traffic may reach an endpoint. Called during planning and again right before a
 * connection is used. Unknown facts count as the worst value.
 */
export function excludedByPolicy(endpoint: PolicyFacts, policy: Policy): PolicyExclusion | undefined {
  const { sovereignty } = endpoint;
  if (policy.simulatedOnly === true && !endpoint.sandbox) {
    return { rule: "simulated_provider_required", reason: "test keys reach simulated providers only" };
  }
  const floor = endpoint.ownNode === undefined ? policy.floor : ownNodeFloor(policy);
  if (floor !== null && levelRank(sovereignty.level) < levelRank(floor)) {
    return {
      rule: "sovereignty_floor_not_met",
      reason: `level ${sovereignty.level} is below the floor ${floor}${policy.floorNote ?? ""}`,
    };
  }
  if (policy.countries !== null) {
    const allowed = policy.countries;
    if (sovereignty.countriesKind === "unknown" || sovereignty.countries.length === 0) {
      return { rule: "compute_country_not_allowed", reason: "its compute countries are unknown" };
    }
    for (const country of sovereignty.countries) {
      if (allowed.includes(country)) continue;
      const outside = sovereignty.countries.filter((code) => !allowed.includes(code));
      return { rule: "compute_country_not_allowed", reason: `it may compute in ${outside.join(", ")}` };
    }
  }
  if (policy.zeroDataRetention && sovereignty.zeroDataRetention !== "yes") {
    return {
      rule: "zero_data_retention_required",
      reason: `zero data retention is "${sovereignty.zeroDataRetention}"`,
    };
  }
  if (policy.noTraining && sovereignty.trainsOnData !== "no") {
    return { rule: "no_training_required", reason: `training on data is "${sovereignty.trainsOnData}"` };
  }
  if (policy.blockedProviders.includes(endpoint.provider)) {
    return { rule: "provider_blocked", reason: `provider ${endpoint.provider} is blocked` };
  }
  return undefined;
}

/** Endpoints with equal policy facts share one class, so a verdict is computed once per class. */
export type PolicyClass = { readonly index: number; readonly facts: PolicyFacts };

export function permitsModel(modelId: string, { allowedModels }: Policy): boolean {
  if (allowedModels === null) return true;
  return allowedModels.length <= LINEAR_SEARCH_MAX
    ? allowedModels.includes(modelId)
    : modelSetOf(allowedModels).has(modelId);
}

const LINEAR_SEARCH_MAX = 8;

/** Countries listed beside kind "unknown" are a guess and are ignored. */
export function knownCountries({
  countries,
  countriesKind,
}: Pick<Sovereignty, "countries" | "countriesKind">): readonly string[] {
  return countriesKind === "unknown" ? NO_COUNTRIES : countries;
}
const NO_COUNTRIES: readonly string[] = [];

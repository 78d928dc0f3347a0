/** The rules of a policy as the management API writes them. */
export const RULE_NAMES = {
  floor: "floor",
  countries: "countries",
  zeroDataRetention: "zero_data_retention",
  noTraining: "no_training",
  blockedProviders: "blocked_providers",
  allowedModels: "allowed_models",
} as const;

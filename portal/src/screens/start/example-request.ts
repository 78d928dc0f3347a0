/** The request of the example receipt. Its endpoint, level and price are those of the shipped catalogue, as a test checks. */
export const EXAMPLE_REQUEST = {
  modelRequested: "auto",
  model: "mistral/mistral-small-2506",
  endpoint: "scaleway:fr-par:mistral/mistral-small-2506",
  provider: "Scaleway Generative APIs",
  country: "FR",
  level: "L3",
  zeroDataRetention: "yes",
  inputTokens: 412,
  outputTokens: 96,
  cost: "0.0000954",
  currency: "EUR",
} as const;

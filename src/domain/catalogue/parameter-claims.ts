import type { Endpoint, EndpointFeatures, Model } from "./catalogue.ts";

/** A feature, and the model's capability that counts where the endpoint declares nothing. */
type Claim = { readonly feature: keyof EndpointFeatures; readonly capability: string };

const TOOLS: Claim = { feature: "tools", capability: "tools" };
const SCHEMA: Claim = { feature: "jsonSchema", capability: "json_schema" };
const REASONING: Claim = { feature: "reasoningControl", capability: "reasoning_control" };
const LOGPROBS: Claim = { feature: "logprobs", capability: "logprobs" };
const SAMPLING: Claim = { feature: "sampling", capability: "sampling_control" };

/** By the first step of the field's path, in the names of every dialect. */
const CLAIMS: ReadonlyMap<string, Claim> = new Map([
  ["tools", TOOLS],
  ["tool_choice", TOOLS],
  ["parallel_tool_calls", { feature: "parallelTools", capability: "parallel_tools" }],
  ["response_format", SCHEMA],
  ["text", SCHEMA],
  ["output_config", SCHEMA],
  ["reasoning_effort", REASONING],
  ["reasoning", REASONING],
  ["thinking", REASONING],
  ["logprobs", LOGPROBS],
  ["top_logprobs", LOGPROBS],
  ["temperature", SAMPLING],
  ["top_p", SAMPLING],
  ["top_k", SAMPLING],
]);

/** The parameter that a path of a request belongs to, if the catalogue says that the endpoint supports it. */
export function claimedParameter(endpoint: Endpoint, model: Model, path: string): string | undefined {
  const [name = ""] = path.split(/[.[]/, 1);
  return isClaimed(endpoint, model, name) ? name : undefined;
}

function isClaimed(endpoint: Endpoint, model: Model, name: string): boolean {
  const { embeddings, speech, transcriptions, supportedParams } = endpoint;
  if (supportedParams?.includes(name) === true) return true;
  if (name === "dimensions") return embeddings?.dimensions === true;
  if (name === "speed" || name === "instructions") return speech?.[name] === true;
  if (transcriptions?.parameters.some((known) => known === name) === true) return true;
  const claim = CLAIMS.get(name);
  if (claim === undefined) return false;
  const declared = endpoint.features[claim.feature] ?? (claim === REASONING ? endpoint.features.reasoning : null);
  return declared ?? model.capabilities.includes(claim.capability);
}

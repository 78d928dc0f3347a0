import { type Endpoint, type Model, supportsEffort } from "../../domain/catalogue/catalogue.ts";
import { effortsOf } from "../../domain/routing/filter.ts";
import { outputLimitOf } from "../../language/dialects/chat/passthrough/request.ts";
import type { ModelFacts } from "../../language/dialects/upstream-dialect.ts";
import { encryptsReasoning } from "./responses-detour.ts";

/**
 * Quirk: the endpoint accepts sampling parameters only at the default values of chat completions. Translated requests omit
 * them; in its own dialect other values are a requirement that the endpoint does not meet.
 */
export const DEFAULT_SAMPLING = "default-sampling";

/** What a dialect needs to know about the model of an endpoint. */
export function modelFactsFor(endpoint: Endpoint, model: Model): ModelFacts {
  return {
    model: endpoint.model,
    upstreamModel: endpoint.upstreamModel,
    maxOutputTokens: endpoint.limits.maxOutputTokens ?? model.maxOutputTokens,
    sampling: endpoint.quirks?.includes(DEFAULT_SAMPLING) ? false : endpoint.features.sampling,
    thinking: endpoint.thinking ?? null,
    efforts: effortsOf(endpoint, model),
    structuredOutput: endpoint.structuredOutput ?? null,
    promptCaching: endpoint.features.promptCaching,
    reasoning: reasoningOf(endpoint),
    acceptsEffort: supportsEffort(endpoint, model),
    outputLimit: outputLimitOf(endpoint),
    reasoningEncryptedBy: encryptsReasoning(endpoint) ? endpoint.provider : null,
    quirks: endpoint.quirks ?? [],
  };
}

function reasoningOf({ features, thinking }: Endpoint): "never" | "untold" | null {
  if (features.reasoning === false) return "never";
  return features.reasoningControl === false || thinking === "fixed" ? "untold" : null;
}

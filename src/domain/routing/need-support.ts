import { invalidValue } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { NeedSource } from "../../language/canon/need.ts";
import { ONE_SAMPLING, SAMPLING_OR_THINKING } from "../../language/canon/sampling.ts";
import { type Endpoint, type Model, supportsEffort } from "../catalogue/catalogue.ts";
import type { ExclusionCause } from "./exclusion.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import type { DialectSupport, MissingCapability, Requirements } from "./requirements.ts";

/** Texts for needs whose names callers do not know. */
const NEED_DESCRIPTIONS: Readonly<Partial<Record<NeedSource["need"], string>>> = {
  remote_url: "supports inline media only (a base64 data URL), not URLs",
  uploaded_file: "supports inline files only, not file ids",
  forced_tools: "supports tool_choice auto and none only",
  reasoning_off: "always reasons",
  reasoning_control: "has no reasoning control",
  logprobs: "returns no log-probabilities",
  json_with_tools: "supports JSON output or tools, not both",
  thinking_with_tools: "supports reasoning or tools, not both",
  many_stops: "supports at most four stop sequences",
  both_samplings: "supports temperature or top_p, not both",
};

/** Catalogue facts decide. Without one, text features are assumed and media needs the model's declared capability. */
export function supportsNeed(endpoint: Endpoint, model: Model, need: NeedSource["need"]): boolean {
  switch (need) {
    case "tools":
      return endpoint.features.tools ?? true;
    case "forced_tools":
      return endpoint.features.forcedTools ?? true;
    case "reasoning_off":
      // Without reasoning there is nothing to turn off: no field is sent.
      if (neverReasons(endpoint)) return true;
      return (
        !deniesReasoningControl(endpoint) &&
        endpoint.thinking !== "always" &&
        !endpoint.quirks?.includes("thinks-always")
      );
    case "reasoning_control":
      return !deniesReasoningControl(endpoint);
    case "logprobs":
      return endpoint.features.logprobs ?? true;
    case "json_with_tools":
      return !endpoint.quirks?.includes("json-or-tools");
    case "many_stops":
      return !endpoint.quirks?.includes("stops-4");
    case "both_samplings":
      return !endpoint.quirks?.includes(ONE_SAMPLING);
    case "json_schema":
      return endpoint.features.jsonSchema ?? true;
    case "image_input":
      return endpoint.features.imageInput ?? model.capabilities.includes("image_input");
    case "audio_input":
    case "pdf_input":
      return model.capabilities.includes(need);
    case "thinking_with_tools":
    case "remote_url":
    case "uploaded_file":
      return true;
  }
}

/** The catalogue states that the endpoint does not reason. */
export function neverReasons({ features }: Endpoint): boolean {
  return features.reasoning === false;
}

function deniesReasoningControl({ features, thinking }: Endpoint): boolean {
  return features.reasoning === false || features.reasoningControl === false || thinking === "fixed";
}

/** Needs that a smaller value of the field avoids. */
const LIMIT_NEEDS: ReadonlySet<NeedSource["need"]> = new Set(["many_stops"]);

export function missingNeed(need: NeedSource["need"], param: string): MissingCapability {
  const reason = NEED_DESCRIPTIONS[need] ?? `does not support ${need}`;
  return LIMIT_NEEDS.has(need) ? { reason, param, code: "invalid_value" } : { reason, param };
}

export function contextExceeded(contextTokens: number, { inputTokens }: Requirements): MissingCapability {
  const reason = `supports at most ${contextTokens} tokens of context, the request has about ${inputTokens}`;
  return { reason, param: "messages", contextTokens };
}

export function outputExceeded(limit: number, { parameterNames }: Requirements): MissingCapability {
  const param = parameterNames?.max_tokens ?? "max_tokens";
  return { reason: `supports at most ${limit} output tokens`, param, limit, code: "invalid_value" };
}

/** The router's effort for a call that sets none, with the parts of the call that may exclude it. */
type RouterEffort = { readonly effort: Effort; readonly withTools: boolean; readonly sampled: boolean };

/** Whether the router's effort can be sent to the endpoint. An effort set by the caller is a requirement instead. */
export function acceptsEffort(
  { endpoint, model }: Pick<Attempt, "endpoint" | "model">,
  { effort, withTools, sampled }: RouterEffort,
  support: DialectSupport,
): boolean {
  const alongside = withTools ? THINKING_WITH_TOOLS : NO_NEEDS;
  if (support.isVerbatim?.(endpoint) === true || !support.takesParameter(endpoint, "reasoning_effort", alongside))
    return false;
  if (!supportsEffort(endpoint, model)) return false;
  if (effort === "none") return supportsNeed(endpoint, model, "reasoning_off");
  if (sampled && endpoint.quirks?.includes(SAMPLING_OR_THINKING)) return false;
  return !withTools || support.takesNeed(endpoint, "thinking_with_tools", alongside);
}

const NO_NEEDS: Pick<Requirements, "needs"> = { needs: [] };
const THINKING_WITH_TOOLS: Pick<Requirements, "needs"> = {
  needs: [
    { need: "tools", param: "tools" },
    { need: "thinking_with_tools", param: "reasoning_effort" },
  ],
};

export function capabilityCause({
  param,
  reason,
  limit,
  contextTokens,
  fault,
  code,
}: MissingCapability): ExclusionCause {
  return { stage: "capability", rule: param, reason, limit, contextTokens, fault, code };
}

/** The messages dialect allows `max_tokens: 0` to warm a prompt cache. */
export function emptyOutputUnsupported({ model }: Endpoint): MissingCapability {
  const param = "max_tokens";
  const problem = `${model} requires at least one output token. Send 1 or more`;
  return { reason: "requires at least one output token", param, fault: invalidValue(param, problem) };
}

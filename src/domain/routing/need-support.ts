import { invalidValue } from "../../contract/faults.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { NeedSource } from "../../language/canon/need.ts";
import { ONE_SAMPLING, SAMPLING_OR_THINKING } from "../../language/canon/sampling.ts";
import { type Endpoint, type Model, supportsEffort } from "../catalogue/catalogue.ts";
import type { Attempt } from "./reachable-endpoint.ts";
import type { DialectSupport, MissingCapability, Requirements } from "./requirements.ts";

/** Texts for needs whose names callers do not know. */
export const NEED_DESCRIPTIONS: Readonly<Partial<Record<NeedSource["need"], string>>> = {
  remote_url: "takes media inside the request only (a base64 data URL), not by address",
  uploaded_file: "takes files inside the request only, not by an id",
  forced_tools: "lets the model itself choose whether it calls a tool",
  reasoning_off: "always reasons",
  json_with_tools: "gives JSON or calls tools, not both",
  thinking_with_tools: "thinks or calls tools, not both",
  many_stops: "takes at most four sequences to stop at",
  both_samplings: "takes temperature or top_p, not both",
};

/** Catalogue facts decide. Without one, text features are assumed and media needs the model's declared capability. */
export function supportsNeed(endpoint: Endpoint, model: Model, need: NeedSource["need"]): boolean {
  switch (need) {
    case "tools":
      return endpoint.features.tools ?? true;
    case "forced_tools":
      return endpoint.features.forcedTools ?? true;
    case "reasoning_off":
      return endpoint.thinking !== "always" && !endpoint.quirks?.includes("thinks-always");
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

/** The messages dialect allows `max_tokens: 0` to warm a prompt cache. */
export function emptyOutputUnsupported({ model }: Endpoint): MissingCapability {
  const param = "max_tokens";
  const problem = `${model} writes an answer, and must be allowed one token at least. Send 1 or more`;
  return { reason: "always writes an answer", param, fault: invalidValue(param, problem) };
}

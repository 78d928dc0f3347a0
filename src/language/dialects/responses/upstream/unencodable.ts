import { type Fault, fault } from "../../../../contract/faults.ts";
import type { Call } from "../../../canon/call.ts";
import { isDefaultSampling } from "../../../canon/sampling.ts";
import type { ModelFacts } from "../../upstream-dialect.ts";
import { FIELDS } from "../fields.ts";

/** The least that the dialect takes as a limit. */
const OUTPUT_TOKENS_MIN = 16;

/** The first thing in a call that has no words here; undefined when all of it can be said. */
export function firstEncodingError(call: Call, facts: ModelFacts): Fault | undefined {
  const { model } = facts;
  const parameter = call.parameters.find((row) => FIELDS[row] === "400");
  if (parameter !== undefined) return unsupported(parameter, `${model} does not take the parameter ${parameter}`);
  const { maxOutputTokens } = call;
  if (maxOutputTokens !== undefined && maxOutputTokens < OUTPUT_TOKENS_MIN)
    return fault("invalid_value", {
      message: `max_tokens must be at least ${OUTPUT_TOKENS_MIN} for this request to ${model}.`,
      param: "max_tokens",
    });
  const sampled = samplingWhileReasoning(call, facts);
  if (sampled !== undefined)
    return unsupported(sampled, `${model} takes no ${sampled} while it thinks: leave one of the two out`);
  return audioError(call);
}

/** While it thinks, a model of this dialect chooses its words by itself, unless the catalogue knows better. */
function samplingWhileReasoning({ reasoning, temperature, topP }: Call, { sampling }: ModelFacts): string | undefined {
  if (sampling !== null || reasoning === undefined || reasoning.effort === "none") return undefined;
  if (!isDefaultSampling(temperature)) return "temperature";
  return isDefaultSampling(topP) ? undefined : "top_p";
}

function audioError({ turns }: Call): Fault | undefined {
  for (const [index, { parts }] of turns.entries()) {
    const at = parts.findIndex(({ is }) => is === "audio");
    if (at >= 0) return unsupported(`messages.${index}.content.${at}`, "The provider's API takes no audio");
  }
  return undefined;
}

function unsupported(param: string, message: string): Fault {
  return fault("unsupported_parameter", { message: `${message}.`, param });
}

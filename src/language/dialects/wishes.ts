import type { Call } from "../canon/call.ts";
import type { ModelFacts } from "./dialect.ts";

/** The call without a wish that the caller can do without and the model cannot be told. */
export function withoutUnheard(call: Call, facts: ModelFacts): Call {
  const { reasoning } = call;
  if (reasoning?.dispensable !== true || (reasoning.effort === "none" ? canBeOff(facts) : facts.reasoning == null))
    return call;
  return { ...call, reasoning: undefined };
}

/** That a model need not think has to be known: servers refuse the word where they do not know it. */
function canBeOff({ reasoning, thinking, quirks }: ModelFacts): boolean {
  return reasoning == null && thinking !== null && thinking !== "always" && !quirks.includes("thinks-always");
}

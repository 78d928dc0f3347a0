import type { Call } from "../canon/call.ts";
import { TOOLS_OR_THINKING } from "../canon/effort.ts";
import type { ModelFacts } from "./dialect.ts";

/** The call without a wish that the caller can do without and the model cannot be told. */
export function withoutUnheard(call: Call, facts: ModelFacts): Call {
  const { reasoning } = call;
  if (reasoning?.dispensable !== true) return call;
  const isHeard = reasoning.effort === "none" ? canBeOff(facts) : facts.reasoning == null && !isKeptFrom(call, facts);
  return isHeard ? call : { ...call, reasoning: undefined };
}

/** That a model need not think has to be known: servers refuse the word where they do not know it. */
function canBeOff({ reasoning, thinking, quirks }: ModelFacts): boolean {
  return reasoning == null && thinking !== null && thinking !== "always" && !quirks.includes("thinks-always");
}

/** Some models think or are offered tools. */
function isKeptFrom({ tools }: Call, { quirks }: ModelFacts): boolean {
  return tools.length > 0 && quirks.includes(TOOLS_OR_THINKING);
}

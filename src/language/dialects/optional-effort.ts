import type { Call } from "../canon/call.ts";
import { TOOLS_OR_THINKING } from "../canon/effort.ts";
import type { Quirk } from "../canon/quirks.ts";
import type { ModelFacts } from "./upstream-dialect.ts";

/** The call without a wish that the caller can do without and the model cannot be told. */
export function withoutUnsupportedEffort(call: Call, facts: ModelFacts): Call {
  const { reasoning } = call;
  if (reasoning?.isOptional !== true) return call;
  const isHeard =
    reasoning.effort === "none"
      ? canDisableReasoning(facts)
      : facts.reasoning == null && !conflictsWithTools(call, facts);
  return isHeard ? call : { ...call, reasoning: undefined };
}

/** Where nobody knows that a model thinks, its server may refuse the word. */
function canDisableReasoning({ reasoning, thinking, acceptsEffort, quirks }: ModelFacts): boolean {
  const isKnown = thinking !== null || acceptsEffort === true;
  return (
    isKnown && reasoning == null && thinking !== "always" && !ALWAYS_REASONING.some((quirk) => quirks.includes(quirk))
  );
}

const ALWAYS_REASONING: readonly Quirk[] = ["thinks-always", "no-word-for-off"];

/** Some models think or are offered tools. */
function conflictsWithTools({ tools }: Call, { quirks }: ModelFacts): boolean {
  return tools.length > 0 && quirks.includes(TOOLS_OR_THINKING);
}

import type { Call } from "../canon/call.ts";
import { TOOLS_OR_THINKING } from "../canon/effort.ts";
import type { Quirk } from "../canon/quirks.ts";
import type { ModelFacts } from "./upstream-dialect.ts";

/** Removes an optional effort that the model does not support. */
export function withoutUnsupportedEffort(call: Call, facts: ModelFacts): Call {
  const { reasoning } = call;
  if (reasoning?.isOptional !== true) return call;
  const isHonoured =
    reasoning.effort === "none"
      ? canDisableReasoning(facts)
      : facts.reasoning == null && !conflictsWithTools(call, facts);
  return isHonoured ? call : { ...call, reasoning: undefined };
}

/** A model that never reasons honours "no reasoning" without a field, which its server may reject. */
export function withoutNeedlessOff(call: Call, { reasoning }: Pick<ModelFacts, "reasoning">): Call {
  const isNeedless = reasoning === "never" && call.reasoning?.effort === "none" && call.reasoning.isOptional !== true;
  return isNeedless ? { ...call, reasoning: undefined } : call;
}

/** Servers may reject the field for models that are not known to reason. */
function canDisableReasoning({ reasoning, thinking, acceptsEffort, quirks }: ModelFacts): boolean {
  const isKnown = thinking !== null || acceptsEffort === true;
  return (
    isKnown && reasoning == null && thinking !== "always" && !ALWAYS_REASONING.some((quirk) => quirks.includes(quirk))
  );
}

const ALWAYS_REASONING: readonly Quirk[] = ["thinks-always", "no-word-for-off"];

function conflictsWithTools({ tools }: Call, { quirks }: ModelFacts): boolean {
  return tools.length > 0 && quirks.includes(TOOLS_OR_THINKING);
}

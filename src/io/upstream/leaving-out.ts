import type { Call } from "../../language/canon/call.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/dialect.ts";
import { withoutUnheard } from "../../language/dialects/wishes.ts";
import { NOTHING_DROPPED } from "./lane.ts";

/** A call as one endpoint is told it, and the fields it is not told: the log names them. */
export type Told = { readonly call: Call; readonly dropped: readonly string[] };

export function leavingOut(asked: Call, { fields }: UpstreamDialect, facts: ModelFacts): Told {
  const { sampling } = facts;
  const heard = withoutUnheard(asked, facts);
  const unheard = heard === asked ? [] : [asked.parameterNames?.reasoning_effort ?? "reasoning_effort"];
  const call = within(heard, facts);
  const advisory = (call.advisory ?? NOTHING_DROPPED).filter(
    (field) => !(isParameter(field) && fields[field] === "yes" && call.chatOnly?.[field] !== undefined),
  );
  const unsaid = unheard.length === 0 ? advisory : [...advisory, ...unheard];
  // Where sampling is a demand, the planner has kept such a model out; elsewhere it is asked without.
  const refused = sampling === false ? sampled(call) : NOTHING_DROPPED;
  if (refused.length === 0) return { call, dropped: unsaid };
  return {
    call: { ...call, temperature: undefined, topP: undefined, topK: undefined },
    dropped: [...unsaid, ...refused],
  };
}

/** Where the limit had to be sent, it says how much is enough: a model that writes less is asked for what it can write. */
function within(call: Call, { maxOutputTokens: most }: ModelFacts): Call {
  const { maxOutputTokens: asked, reasoning } = call;
  if (most === null || asked === undefined || asked <= most) return call;
  const budgetTokens = reasoning?.budgetTokens ?? null;
  if (reasoning === undefined || budgetTokens === null || budgetTokens < most)
    return { ...call, maxOutputTokens: most };
  return { ...call, maxOutputTokens: most, reasoning: { ...reasoning, budgetTokens: most - 1 } };
}

function sampled({ temperature, topP, topK }: Call): string[] {
  const sent = { temperature, top_p: topP, top_k: topK };
  return Object.entries(sent).flatMap(([field, value]) => (value === undefined ? [] : [field]));
}

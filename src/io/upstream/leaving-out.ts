import type { Call } from "../../language/canon/call.ts";
import { isParameter } from "../../language/canon/parameters.ts";
import type { ModelFacts, UpstreamDialect } from "../../language/dialects/dialect.ts";
import { NOTHING_DROPPED } from "./lane.ts";

/** A call as one endpoint is told it, and the fields it is not told: the log names them. */
export type Told = { readonly call: Call; readonly dropped: readonly string[] };

export function leavingOut(call: Call, { fields }: UpstreamDialect, { sampling }: ModelFacts): Told {
  const unsaid = (call.advisory ?? NOTHING_DROPPED).filter(
    (field) => !(isParameter(field) && fields[field] === "yes" && call.chatOnly?.[field] !== undefined),
  );
  // Where sampling is a demand, the planner has kept such a model out; elsewhere it is asked without.
  const refused = sampling === false ? sampled(call) : NOTHING_DROPPED;
  if (refused.length === 0) return { call, dropped: unsaid };
  return {
    call: { ...call, temperature: undefined, topP: undefined, topK: undefined },
    dropped: [...unsaid, ...refused],
  };
}

function sampled({ temperature, topP, topK }: Call): string[] {
  const sent = { temperature, top_p: topP, top_k: topK };
  return Object.entries(sent).flatMap(([field, value]) => (value === undefined ? [] : [field]));
}

import type { Inbound } from "../../io/upstream/lane.ts";
import { estimateInputTokens } from "../../language/canon/needs.ts";
import { estimateJsonTokens } from "../../language/canon/unread.ts";

/** The input of a request, estimated before it is sent. What only a provider can read is reserved for all the same. */
export function inputTokensOf(inbound: Inbound): number {
  const { call } = inbound;
  const read = estimateInputTokens(call, toolsLength(inbound));
  if (call.native === undefined || call.native.length === 0) return read;
  return Math.max(read, estimateJsonTokens(wordsOf(inbound)));
}

/** All that a provider of the caller's own dialect is told. */
function wordsOf(inbound: Inbound): unknown {
  const { value } = inbound.body;
  return inbound.dialect === "responses" ? { ...value, input: inbound.items } : value;
}

function toolsLength({ body }: Inbound): number {
  const span = body.members.get("tools");
  return span === undefined ? 0 : span.valueEnd - span.valueStart;
}

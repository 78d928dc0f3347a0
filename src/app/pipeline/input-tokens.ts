import type { TokenCounter } from "../../io/tokens/token-counter.ts";
import type { InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { Call } from "../../language/canon/call.ts";
import { countableInput } from "../../language/canon/counting.ts";
import { estimateInputTokens, estimateJsonTokens, type TextTokenEstimator } from "../../language/canon/estimate.ts";

/** The input of a request, estimated before it is sent. What only a provider can read counts all the same. */
export function estimateInput(inbound: InboundRequest, textTokens: TextTokenEstimator): number {
  const { call } = inbound;
  const read = estimateInputTokens(call, toolsLength(inbound), textTokens);
  return hasNativeContent(call) ? Math.max(read, estimateJsonTokens(providerVisibleBody(inbound), textTokens)) : read;
}

/** Whether it says something that has no place in the canonical call. */
export function hasNativeContent({ native }: Call): boolean {
  return native !== undefined && native.length > 0;
}

/** Counted by a tokenizer that is not the model's own; undefined where that one is too busy. */
export async function countInput(tokens: TokenCounter, call: Call): Promise<number | undefined> {
  const { texts, otherTokens } = countableInput(call);
  const found = await tokens.count(texts);
  return found === undefined ? undefined : otherTokens + found;
}

/** All that a provider of the caller's own dialect is told. */
function providerVisibleBody(inbound: InboundRequest): unknown {
  const { value } = inbound.body;
  return inbound.dialect === "responses" ? { ...value, input: inbound.items } : value;
}

function toolsLength({ body }: InboundRequest): number {
  const span = body.members.get("tools");
  return span === undefined ? 0 : span.valueEnd - span.valueStart;
}

import { Fault } from "../../contract/faults.ts";
import { adapterFor } from "../../io/upstream/generation-adapter.ts";
import type { AdapterTarget, InboundRequest } from "../../io/upstream/upstream-adapter.ts";
import type { Effort } from "../../language/canon/call.ts";
import type { EndpointAdapter, ReasoningChoice } from "./inference-request.ts";

export function withEffort<In extends InboundRequest>(inbound: In, effort: Effort): In {
  return { ...inbound, call: { ...inbound.call, reasoning: { effort, budgetTokens: null } } };
}

/** Drops the router's effort when it conflicts with the caller's parameters, such as a temperature. */
export function adapterWithEffort(
  inbound: InboundRequest,
  reasoning: Extract<ReasoningChoice, { by: "caller" | "router" }>,
  target: AdapterTarget,
): EndpointAdapter {
  try {
    const adapter = adapterFor(withEffort(inbound, reasoning.effort), target);
    // Only encoding reveals a conflict; the encoded body is reused for the request.
    const body = adapter.encode();
    return { adapter: { ...adapter, encode: () => body }, reasoning };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { adapter: adapterFor(inbound, target), reasoning: { by: "provider_default" } };
  }
}

import { Fault } from "../../contract/faults.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import { acceptsEffort } from "../../domain/routing/capability.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { AdapterTarget, InboundRequest, UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { adapterFor, dialectSupport, isEffortConflicting } from "../../io/upstream/upstream-adapters.ts";
import type { Effort } from "../../language/canon/call.ts";
import { setsSampling } from "../../language/canon/sampling.ts";
import { omittedToolIndexes } from "./extras.ts";

/** Who said how hard the model should think, on one attempt. */
export type ReasoningChoice =
  | { readonly by: "caller" | "router"; readonly effort: Effort }
  /** The router wanted an effort, and this endpoint cannot be told one. */
  | { readonly by: "provider_default" };

/** The caller's word stands. Without one the router's goes to whoever can be told it. */
export function chooseReasoning(inbound: InboundRequest, plan: Plan, attempt: Attempt): ReasoningChoice | undefined {
  const { call, dialect } = inbound;
  if (call.reasoning !== undefined) return { by: "caller", effort: call.reasoning.effort };
  const { effort } = plan;
  if (effort === null) return undefined;
  const wish = { effort, withTools: call.tools.length > 0, sampled: setsSampling(call) };
  const target = { ...attempt, leftOut: omittedToolIndexes(call.extras, attempt) };
  const told =
    acceptsEffort(attempt, wish, dialectSupport(dialect)) && !isEffortConflicting(withEffort(inbound, effort), target);
  return told ? { by: "router", effort } : { by: "provider_default" };
}

function withEffort<In extends InboundRequest>(inbound: In, effort: Effort): In {
  return { ...inbound, call: { ...inbound.call, reasoning: { effort, budgetTokens: null } } };
}

/** The way to an endpoint, and who said how hard to think on it. */
export type EndpointAdapter = { readonly adapter: UpstreamAdapter; readonly reasoning: ReasoningChoice | undefined };

/**
 * A router's effort must not get in the way of what the caller asked for: where both cannot be said to the endpoint,
 * such as with a temperature that the model does not take while it thinks, the effort is left out.
 */
export function buildAdapter(
  inbound: InboundRequest,
  reasoning: ReasoningChoice | undefined,
  target: AdapterTarget,
): EndpointAdapter {
  if (reasoning?.by !== "router") return { adapter: adapterFor(inbound, target), reasoning };
  try {
    const lane = adapterFor(withEffort(inbound, reasoning.effort), target);
    // Only writing the request shows whether both can be said; what was written is what is sent.
    const body = lane.encode();
    return { adapter: { ...lane, encode: () => body }, reasoning };
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return { adapter: adapterFor(inbound, target), reasoning: { by: "provider_default" } };
  }
}

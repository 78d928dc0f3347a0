import type { Surface } from "../../domain/record/record.ts";
import type { Attempt } from "../../domain/routing/attempt.ts";
import { takesEffort } from "../../domain/routing/capability.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Inbound } from "../../io/upstream/lane.ts";
import { dialectSupport } from "../../io/upstream/lanes.ts";
import type { Call, Effort } from "../../language/canon/call.ts";

/** Who said how hard the model should think, on one attempt. */
export type Thinking =
  | { readonly by: "caller" | "router"; readonly effort: Effort }
  /** The router wanted an effort, and this endpoint cannot be told one. */
  | { readonly by: "provider_default" };

/** The caller's word stands. Without one the router's goes to whoever can be told it. */
export function thinkingFor(call: Call, plan: Plan, attempt: Attempt, surface: Surface): Thinking | undefined {
  if (call.reasoning !== undefined) return { by: "caller", effort: call.reasoning.effort };
  const { effort } = plan;
  if (effort === null) return undefined;
  const told = takesEffort(attempt.endpoint, attempt.model, effort, dialectSupport(surface));
  return told ? { by: "router", effort } : { by: "provider_default" };
}

/** The call as it goes to one endpoint. */
export function asThought(inbound: Inbound, thinking: Thinking | undefined): Inbound {
  if (thinking?.by !== "router") return inbound;
  return { ...inbound, call: { ...inbound.call, reasoning: { effort: thinking.effort, budgetTokens: null } } };
}

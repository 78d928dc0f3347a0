import { Fault } from "../../contract/faults.ts";
import type { Plan } from "../../domain/routing/plan.ts";
import type { Exchange } from "../exchange.ts";
import { replyHeadFor } from "./attempt.ts";
import type { InferenceRequest } from "./inference-request.ts";
import type { RequestTrace } from "./record.ts";

/** The encoding fault of a request that no planned endpoint can encode; undefined when one can. */
export function firstEncodingError(
  exchange: Exchange,
  trace: RequestTrace,
  { request, plan }: { readonly request: InferenceRequest; readonly plan: Plan },
): Fault | undefined {
  let first: Fault | undefined;
  for (const attempt of plan.attempts) {
    try {
      const { adapter } = request.adapterFor(attempt, plan, replyHeadFor(exchange, trace, request, attempt));
      if (adapter.subRequests === undefined) adapter.encode();
      return undefined;
    } catch (error) {
      if (!(error instanceof Fault)) return undefined;
      first ??= error;
    }
  }
  return first && plan.withPolicyNote(first);
}

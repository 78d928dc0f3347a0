import { fault } from "../../contract/faults.ts";
import { type Blame, classifyMalformed, type FailureVerdict, failureReport } from "./classify-failure.ts";
import type { ResponseRejection } from "./large-response.ts";
import type { MemoryShortage } from "./response-memory.ts";

/** A response that exceeds a limit of its shape, such as its depth: malformed, and never retried at the same endpoint. */
export function classifyShape(limit: string, provider: string): FailureVerdict {
  const verdict = classifyMalformed(limit, provider);
  return verdict.is === "next" ? { ...verdict, ...rejectedReport(provider, limit), rejected: limit } : verdict;
}

/**
 * There is no memory for the response. The request ends, because the response of another endpoint would need as much. Only a
 * response that is too large by itself counts against the endpoint: a workspace can use up its memory with any endpoint.
 */
function classifyMemory({ why, isTooLarge }: MemoryShortage, provider: string): FailureVerdict {
  return {
    is: "stop",
    why: `rejected: ${why}`,
    fault: noMemoryFault(`The response of the provider ${provider}`, why),
    unread: { why, blame: isTooLarge ? ENDPOINT : { on: "none" } },
  };
}

export function classifyRejection(rejection: ResponseRejection, provider: string): FailureVerdict {
  return rejection.is === "shape" ? classifyShape(rejection.why, provider) : classifyMemory(rejection, provider);
}

/** A node has a circuit breaker of its own, and its owner decides about its load: it counts every response without memory. */
export function attributeMemoryToNode(verdict: FailureVerdict, name: string): FailureVerdict {
  if (verdict.is !== "stop" || verdict.unread === undefined) return verdict;
  const { why } = verdict.unread;
  return {
    ...verdict,
    fault: noMemoryFault(`The response of the node ${name}`, why),
    unread: { why, blame: ENDPOINT },
  };
}

const ENDPOINT: Blame = { on: "endpoint", retryAfterMs: undefined };

const noMemoryFault = (response: string, why: string) =>
  fault("upstream_error", {
    message: `${response} was rejected: ${why}; no other endpoint was tried. Ask for a shorter response, send fewer requests at once, or have the limit raised.`,
  });

const rejectedReport = (provider: string, why: string) =>
  failureReport((reason) =>
    fault("upstream_error", {
      message: `The response of the provider ${provider} was rejected: ${why}; and ${reason}. Ask for a shorter response. A limit can be raised if it states its setting.`,
    }),
  );

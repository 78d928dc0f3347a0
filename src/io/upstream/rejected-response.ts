import { fault } from "../../contract/faults.ts";
import { classifyMalformed, type FailureVerdict, failureReport } from "./classify-failure.ts";
import type { ResponseRejection } from "./large-response.ts";

/** A response that exceeds a limit of its shape, such as its depth: malformed, and never retried at the same endpoint. */
export function classifyShape(limit: string, provider: string): FailureVerdict {
  const verdict = classifyMalformed(limit, provider);
  return verdict.is === "next" ? { ...verdict, ...rejectedReport(provider, limit), rejected: limit } : verdict;
}

/** There is no memory for the response: its circuit breaker counts a failure, but not a malformed response. */
function classifyMemory(why: string, provider: string): FailureVerdict {
  return {
    is: "next",
    why: `rejected: ${why}`,
    mayHaveBeenAccepted: true,
    ...rejectedReport(provider, why),
    rejected: why,
    blame: { on: "endpoint", retryAfterMs: undefined },
    retrySameAfterMs: undefined,
  };
}

export function classifyRejection({ is, why }: ResponseRejection, provider: string): FailureVerdict {
  return is === "shape" ? classifyShape(why, provider) : classifyMemory(why, provider);
}

const rejectedReport = (provider: string, why: string) =>
  failureReport((reason) =>
    fault("upstream_error", {
      message: `The response of the provider ${provider} was rejected: ${why}; and ${reason}. Ask for a shorter response, or have the limit raised.`,
    }),
  );

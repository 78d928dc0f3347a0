import { type Fault, fault } from "../contract/faults.ts";
import type { RateWindowVerdict } from "../domain/admission/shared-state.ts";

type Headers = Record<string, string>;

/** How the window of a key stands, for every answer to its calls. */
export function addRateHeaders(headers: Headers, { limit, remaining, resetAtMs }: RateWindowVerdict): void {
  headers["x-ratelimit-limit"] = String(limit);
  headers["x-ratelimit-remaining"] = String(remaining);
  headers["x-ratelimit-reset"] = String(Math.ceil(resetAtMs / 1000));
}

/** By these headers a caller tells the limit of its key from every other 429, which comes without them. */
export function dropRateHeaders(headers: Headers): void {
  delete headers["x-ratelimit-limit"];
  delete headers["x-ratelimit-remaining"];
  delete headers["x-ratelimit-reset"];
}

export function overLimit(verdict: RateWindowVerdict): Fault {
  const waitSeconds = Math.max(1, Math.ceil(verdict.waitMs / 1000));
  const headers: Headers = { "retry-after": String(waitSeconds) };
  addRateHeaders(headers, verdict);
  return fault("rate_limit_exceeded", {
    message: `This key is over its limit of ${verdict.limit} requests a minute. Try again in ${waitSeconds} s.`,
    headers,
  });
}

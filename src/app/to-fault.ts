import { Fault, fault } from "../contract/faults.ts";
import { StoreError } from "../io/store/sql/store-error.ts";

const RETRY_AFTER_SECONDS = 5;

/** Maps any thrown value to a fault; unknown errors become `internal_error` with a private detail. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const unavailable = unavailableFault(error);
  if (unavailable !== undefined) return unavailable;
  const detail = { cause: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return fault("internal_error", {
    message:
      "The gateway failed to process this request. Try again. If it keeps failing, report the request id to the operator.",
    detail,
  });
}

/** The fault for a temporarily unavailable store; undefined for every other error. */
function unavailableFault(error: unknown): Fault | undefined {
  if (!(error instanceof StoreError) || error.failure !== "unavailable") return undefined;
  return fault("service_unavailable", {
    message: `The store does not respond. Try again in ${RETRY_AFTER_SECONDS} s.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    detail: { cause: error.message },
  });
}

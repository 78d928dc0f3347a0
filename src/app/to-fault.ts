import { Fault, fault } from "../contract/faults.ts";
import { unavailableFault } from "../io/store/sql/store-error.ts";

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

import { Fault, fault } from "../contract/faults.ts";
import { unavailableFault } from "../io/store/sql/store-error.ts";

/** Whatever was thrown, as the refusal that the caller hears. */
export function toFault(error: unknown): Fault {
  if (error instanceof Fault) return error;
  const away = unavailableFault(error);
  if (away !== undefined) return away;
  const detail = { cause: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  return fault("internal_error", {
    message: "The gateway failed on this request. Try again; if it stays, tell the operator the request id.",
    detail,
  });
}

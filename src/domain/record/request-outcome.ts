import type { FaultCode } from "../../contract/faults.ts";
import type { RequestRecord } from "./record.ts";

/** What stands in the log of a call that was answered and charged before: it is repeated, and nobody is asked. */
const IDEMPOTENT_REPLAY: FaultCode = "idempotent_replay";

/** What stands in the log of a request that had begun, and whose end was never written down. */
export const INTERRUPTED = "interrupted";

export function isIdempotentReplay(errorCode: string | null): boolean {
  return errorCode === IDEMPOTENT_REPLAY;
}

/** Whether a request ended in an error. A repetition has a code of its own, and nothing failed. */
export function hasFailed({ status, errorCode }: Pick<RequestRecord, "status" | "errorCode">): boolean {
  return !isIdempotentReplay(errorCode) && (status >= 400 || errorCode !== null);
}

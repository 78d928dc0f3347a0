import type { FaultCode } from "../../contract/faults.ts";
import type { RequestRecord } from "./record.ts";

/** Logged for a call that was answered and charged before under its `Idempotency-Key`. */
const IDEMPOTENT_REPLAY: FaultCode = "idempotent_replay";

/** Logged for a request that started and whose end was never recorded. */
export const INTERRUPTED = "interrupted";

export function isIdempotentReplay(errorCode: string | null): boolean {
  return errorCode === IDEMPOTENT_REPLAY;
}

/** An idempotent replay has an error code, but is not a failure. */
export function hasFailed({ status, errorCode }: Pick<RequestRecord, "status" | "errorCode">): boolean {
  return !isIdempotentReplay(errorCode) && (status >= 400 || errorCode !== null);
}

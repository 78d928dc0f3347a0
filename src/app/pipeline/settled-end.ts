import type { Fault } from "../../contract/faults.ts";
import type { RequestRecord } from "../../domain/record/record.ts";
import type { RequestTrace } from "./record.ts";

/** The status of a client that disconnected before the response was complete; it appears in the log only. */
export const CLIENT_DISCONNECTED = { status: 499, errorCode: "client_disconnected" } as const;

export function disconnectedRecord(trace: RequestTrace): RequestRecord {
  return trace.finishedRecord({ ...CLIENT_DISCONNECTED, usage: null, charge: null });
}

/** A fault of a request that is already settled and charged. */
export class SettledFault extends Error {
  readonly fault: Fault;

  constructor(problem: Fault) {
    super(problem.message);
    this.fault = problem;
  }
}

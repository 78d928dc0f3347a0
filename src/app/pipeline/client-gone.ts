import type { RequestRecord } from "../../domain/record/record.ts";
import type { RequestTrace } from "./request-trace.ts";

/** The client closed the connection before the answer was whole; only ever seen in the log. */
export const CLIENT_DISCONNECTED = { status: 499, errorCode: "client_disconnected" } as const;

/** The record of a request that ended so and costs nothing. */
export function disconnectedRecord(trail: RequestTrace): RequestRecord {
  return trail.finishedRecord({ ...CLIENT_DISCONNECTED, usage: null, charge: null });
}

import type { FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { StreamedReply, WholeReply } from "../../language/canon/reply.ts";

/** How one attempt at one endpoint ended. */
export type AttemptOutcome = EndedAttempt | FailedAttempt;

export type FailedAttempt = {
  readonly is: "failed";
  readonly verdict: FailureVerdict;
  readonly upstreamStatus: number | null;
  /** The endpoint had other parts of the request, whatever became of the one that failed. */
  readonly partsAccepted?: true;
};

/** Ends that leave nothing to try. */
export type EndedAttempt =
  | { readonly is: "whole"; readonly answer: WholeReply; readonly upstreamStatus: number }
  | { readonly is: "relayed"; readonly stream: StreamedReply; readonly upstreamStatus: number }
  /** It broke after the client had seen content: nothing may be tried any more. */
  | {
      readonly is: "broke";
      readonly stream: StreamedReply;
      readonly verdict: FailureVerdict;
      readonly upstreamStatus: number;
    }
  | { readonly is: "gone"; readonly stream: StreamedReply | undefined };

/** Whether the endpoint may have taken the request although it gave no answer. */
export function isMaybeAccepted({ verdict, partsAccepted }: FailedAttempt): boolean {
  if (partsAccepted === true) return true;
  if (verdict.is === "busy") return false;
  return verdict.is === "next" ? verdict.mayHaveBeenAccepted : verdict.stopped?.sent === true;
}

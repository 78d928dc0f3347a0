import type { Fault } from "../../contract/faults.ts";
import type { AttemptRecord } from "../../domain/record/record.ts";
import type { FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { StreamedReply, WholeReply } from "../../language/canon/reply.ts";

/** How one attempt at one endpoint ended. */
export type AttemptOutcome = EndedAttempt | FailedAttempt;

export type FailedAttempt = {
  readonly is: "failed";
  readonly verdict: FailureVerdict;
  readonly upstreamStatus: number | null;
  /** The endpoint had accepted other parts of the request. */
  readonly partsAccepted?: true;
};

/** Outcomes after which no further attempt is made. */
export type EndedAttempt = ServedAttempt | UnservedAttempt;

type ServedAttempt =
  | { readonly is: "complete"; readonly reply: WholeReply; readonly upstreamStatus: number }
  | { readonly is: "relayed"; readonly stream: StreamedReply; readonly upstreamStatus: number };

type UnservedAttempt =
  /** Failed after the commit point. */
  | {
      readonly is: "broken";
      readonly stream: StreamedReply;
      readonly verdict: FailureVerdict;
      readonly upstreamStatus: number;
    }
  | { readonly is: "disconnected"; readonly stream: StreamedReply | undefined }
  /** The rules let no more of the reply pass. */
  | { readonly is: "withheld"; readonly stream: StreamedReply; readonly fault: Fault };

/** An outcome with its entry in the request record. */
export type AttemptResult = { readonly outcome: AttemptOutcome; readonly record: AttemptRecord };

export type OutcomeDescription = Pick<AttemptRecord, "outcome" | "upstreamStatus" | "reason" | "maybeAccepted">;

export function describeFailure(outcome: UnservedAttempt | FailedAttempt): OutcomeDescription {
  switch (outcome.is) {
    case "broken":
      return {
        outcome: "stop",
        upstreamStatus: outcome.upstreamStatus,
        reason: truncateReason(outcome.verdict.why),
        maybeAccepted: true,
      };
    case "disconnected":
      return { outcome: "cancelled", upstreamStatus: null, reason: "the client disconnected", maybeAccepted: true };
    case "withheld":
      return {
        outcome: "served",
        upstreamStatus: 200,
        reason: "a rule of data classes ended the reply",
        maybeAccepted: true,
      };
    case "failed": {
      const { verdict, upstreamStatus } = outcome;
      return {
        outcome: verdict.is === "stop" ? "stop" : "next",
        upstreamStatus,
        reason: truncateReason(verdict.why),
        maybeAccepted: isMaybeAccepted(outcome),
      };
    }
  }
}

/** True when the endpoint may have accepted the request although it sent no reply. */
export function isMaybeAccepted({ verdict, partsAccepted }: FailedAttempt): boolean {
  if (partsAccepted === true) return true;
  if (verdict.is === "busy") return false;
  if (verdict.is === "next") return verdict.mayHaveBeenAccepted;
  return verdict.stopped?.sent === true || verdict.unread !== undefined;
}

/** Callers choose the number and length of field names, and the journal limits the size of a record. */
const NAMES_MAX = 20;
const NAME_CHARS_MAX = 200;
const REASON_CHARS_MAX = 500;

const truncateReason = (reason: string) => reason.slice(0, REASON_CHARS_MAX);

export function listNames(names: readonly string[]): string {
  const listed = names.slice(0, NAMES_MAX).map((name) => name.slice(0, NAME_CHARS_MAX));
  return names.length > NAMES_MAX ? `${listed.join(", ")} and ${names.length - NAMES_MAX} more` : listed.join(", ");
}

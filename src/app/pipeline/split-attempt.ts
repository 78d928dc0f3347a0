import type { WholeReply } from "../../language/canon/reply.ts";
import { type AttemptOutcome, type FailedAttempt, isMaybeAccepted } from "./attempt-outcome.ts";

/** So many parts of one answer are asked for at once. */
const AT_ONCE_MAX = 8;

type PartsRun = {
  readonly count: number;
  /** Asks for one part. */
  runPart(at: number): Promise<AttemptOutcome>;
  /** Nothing more is wanted: what is under way ends. */
  cancel(): void;
  /** Places that parts beside the first need, where who is asked has so many and no more. */
  readonly slots: PartSlots | undefined;
};

export type PartSlots = { takeFurther(): "taken" | "full"; give(): void };

type AllParts = { readonly is: "all"; readonly answers: readonly WholeReply[] };
type IncompleteParts = Exclude<AttemptOutcome, { is: "whole" }>;

/** All parts of one answer, or nothing: with the first that fails the others are given up. */
export async function runParts({ count, runPart, cancel, slots }: PartsRun): Promise<AllParts | IncompleteParts> {
  const waiting = Array.from({ length: count }, (_, at) => at);
  const outcomes: AttemptOutcome[] = [];
  let failure: IncompleteParts | undefined;
  const work = async (beside: "others" | "nobody"): Promise<void> => {
    while (failure === undefined) {
      const at = waiting.shift();
      if (at === undefined) return;
      const outcome = await runPart(at);
      outcomes[at] = outcome;
      if (outcome.is === "whole") continue;
      if (beside === "others" && isBusy(outcome)) {
        // There is room for fewer than it seemed: those who are left do it, at last one alone.
        waiting.unshift(at);
        return;
      }
      failure ??= outcome;
      cancel();
    }
  };
  const helpers: Promise<void>[] = [];
  while (helpers.length < Math.min(AT_ONCE_MAX, count) - 1 && slots?.takeFurther() !== "full")
    helpers.push(work("others").finally(() => slots?.give()));
  try {
    await Promise.all([...helpers, work(helpers.length === 0 ? "nobody" : "others")]);
    await work("nobody");
  } catch (error) {
    cancel();
    throw error;
  }
  if (failure === undefined)
    return { is: "all", answers: outcomes.flatMap((one) => (one.is === "whole" ? [one.answer] : [])) };
  const others = outcomes.filter((one) => one !== failure);
  return failure.is === "failed" && others.some(mayHaveReceivedInput) ? withPartsAccepted(failure) : failure;
}

function isBusy(outcome: AttemptOutcome): boolean {
  return outcome.is === "failed" && outcome.verdict.is === "busy";
}

function mayHaveReceivedInput(outcome: AttemptOutcome): boolean {
  return outcome.is !== "failed" || outcome.upstreamStatus !== null || isMaybeAccepted(outcome);
}

/** It fails as a request that was sent does: it is repeated only where the endpoint itself asked for that. */
function withPartsAccepted(failure: FailedAttempt): FailedAttempt {
  const { verdict, upstreamStatus } = failure;
  if (verdict.is !== "next") return { ...failure, partsAccepted: true };
  const retrySameAfterMs = upstreamStatus === null ? undefined : verdict.retrySameAfterMs;
  const told = { ...verdict, ...verdict.afterPartialSend };
  return { ...failure, verdict: { ...told, mayHaveBeenAccepted: true, retrySameAfterMs }, partsAccepted: true };
}

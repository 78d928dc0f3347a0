import type { WholeReply } from "../../language/canon/reply.ts";
import { type AttemptOutcome, type FailedAttempt, isMaybeAccepted } from "./attempt-outcome.ts";

const CONCURRENT_PARTS_MAX = 8;

type PartsRun = {
  readonly count: number;
  runPart(index: number): Promise<AttemptOutcome>;
  /** Cancels the parts in flight. */
  cancel(): void;
  /** Concurrency slots for parts beyond the first; undefined: unlimited. */
  readonly slots: PartSlots | undefined;
};

export type PartSlots = { acquireExtra(): "taken" | "full"; release(): void };

type AllParts = { readonly is: "all"; readonly replies: readonly WholeReply[] };
type IncompleteParts = Exclude<AttemptOutcome, { is: "complete" }>;

/** Runs all parts; the first failure cancels the others. */
export async function runParts({ count, runPart, cancel, slots }: PartsRun): Promise<AllParts | IncompleteParts> {
  const waiting = Array.from({ length: count }, (_, index) => index);
  const outcomes: AttemptOutcome[] = [];
  let failure: IncompleteParts | undefined;
  const work = async (peers: "some" | "none"): Promise<void> => {
    while (failure === undefined) {
      const index = waiting.shift();
      if (index === undefined) return;
      const outcome = await runPart(index);
      outcomes[index] = outcome;
      if (outcome.is === "complete") continue;
      if (peers === "some" && isBusy(outcome)) {
        // The endpoint accepts fewer concurrent parts: this worker stops and leaves its part to the others.
        waiting.unshift(index);
        return;
      }
      failure ??= outcome;
      cancel();
    }
  };
  const workers: Promise<void>[] = [];
  while (workers.length < Math.min(CONCURRENT_PARTS_MAX, count) - 1 && slots?.acquireExtra() !== "full")
    workers.push(work("some").finally(() => slots?.release()));
  try {
    await Promise.all([...workers, work(workers.length === 0 ? "none" : "some")]);
    await work("none");
  } catch (error) {
    cancel();
    throw error;
  }
  if (failure === undefined)
    return { is: "all", replies: outcomes.flatMap((one) => (one.is === "complete" ? [one.reply] : [])) };
  const others = outcomes.filter((one) => one !== failure);
  return failure.is === "failed" && others.some(mayHaveReceivedInput) ? withPartsAccepted(failure) : failure;
}

function isBusy(outcome: AttemptOutcome): boolean {
  return outcome.is === "failed" && outcome.verdict.is === "busy";
}

function mayHaveReceivedInput(outcome: AttemptOutcome): boolean {
  return outcome.is !== "failed" || outcome.upstreamStatus !== null || isMaybeAccepted(outcome);
}

/** Fails like a sent request: it is retried only if the endpoint itself asked for it. */
function withPartsAccepted(failure: FailedAttempt): FailedAttempt {
  const { verdict, upstreamStatus } = failure;
  if (verdict.is !== "next") return { ...failure, partsAccepted: true };
  const retrySameAfterMs = upstreamStatus === null ? undefined : verdict.retrySameAfterMs;
  const reported = { ...verdict, ...verdict.afterPartialSend };
  return { ...failure, verdict: { ...reported, mayHaveBeenAccepted: true, retrySameAfterMs }, partsAccepted: true };
}

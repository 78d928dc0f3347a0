import { Fault } from "../../contract/faults.ts";
import type { Attempt } from "../../domain/routing/reachable-endpoint.ts";
import { classifyKeyRevoked } from "../../io/upstream/classify-failure.ts";
import type { UpstreamBody } from "../../io/upstream/transport.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { WholeReply } from "../../language/canon/reply.ts";
import { encodingFailure } from "./attempt-failure.ts";
import { type AttemptOutcome, type FailedAttempt, isMaybeAccepted } from "./attempt-outcome.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { bufferedOutcome, type CancelHandle, cancelCall, type Relay } from "./relay.ts";
import { sendSequence } from "./sequential-attempt.ts";

const CONCURRENT_PARTS_MAX = 8;

/** The part of an attempt that splitting it needs. */
type SplitAttempt = {
  readonly gateway: Pick<GatewayDeps, "endpointSlots" | "nodes" | "timers">;
  readonly attempt: Attempt;
  readonly adapter: UpstreamAdapter;
  readonly relay: Pick<Relay, "setCancel">;
};

type SendBody<Run> = (part: Run, body: UpstreamBody, handle: CancelHandle) => MaybePromise<AttemptOutcome>;

/** Sends the request in parts; one failed part fails the attempt. */
export async function sendParts<Run extends SplitAttempt>(
  run: Run,
  { adapters, join }: NonNullable<UpstreamAdapter["subRequests"]>,
  send: SendBody<Run>,
): Promise<AttemptOutcome> {
  const { gateway, attempt, relay } = run;
  const handles = adapters.map((): CancelHandle => ({ call: undefined, isCancelled: false }));
  const cancelAll = () => handles.forEach(cancelCall);
  relay.setCancel(cancelAll);
  const result = await runParts({
    count: adapters.length,
    async runPart(index) {
      const [adapter, handle] = [adapters[index], handles[index]];
      if (adapter === undefined || handle === undefined) throw new Error(`there is no part ${index}`);
      const outcome = await sendPart({ ...run, adapter }, handle, send);
      // Releases the call, which retains every byte it has read.
      handle.call = undefined;
      return outcome;
    },
    cancel: cancelAll,
    slots: partSlotsFor(gateway, attempt),
  });
  if (result.is !== "all") return result;
  return bufferedOutcome(join(result.replies), run.adapter, attempt.endpoint);
}

/** Undefined: the endpoint has no concurrency limit for this key. */
function partSlotsFor(
  { endpointSlots, nodes }: SplitAttempt["gateway"],
  { ownKey, node, endpoint: { id } }: Attempt,
): PartSlots | undefined {
  if (node !== undefined) return nodes.entry(node.id);
  if (ownKey !== undefined) return undefined;
  return { acquireExtra: () => endpointSlots.acquireExtra(id), release: () => endpointSlots.release(id) };
}

async function sendPart<Run extends SplitAttempt>(
  part: Run,
  handle: CancelHandle,
  send: SendBody<Run>,
): Promise<AttemptOutcome> {
  let body: UpstreamBody;
  try {
    body = part.adapter.encode();
  } catch (error) {
    return encodingFailure(error);
  }
  try {
    const outcome = await send(part, body, handle);
    const { sequence } = part.adapter;
    return sequence === undefined ? outcome : await sendSequence(part, outcome, { sequence, handle, send });
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    // The request ends, but the record must still show that the endpoint received the earlier parts.
    return { is: "failed", verdict: classifyKeyRevoked(error), upstreamStatus: null };
  }
}

type PartsRun = {
  readonly count: number;
  runPart(index: number): Promise<AttemptOutcome>;
  /** Cancels the parts in flight. */
  cancel(): void;
  /** Concurrency slots for parts beyond the first; undefined: unlimited. */
  readonly slots: PartSlots | undefined;
};

type PartSlots = { acquireExtra(): "taken" | "full"; release(): void };

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

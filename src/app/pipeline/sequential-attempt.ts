import { classifyMalformed } from "../../io/upstream/classify-failure.ts";
import type { UpstreamBodyHandler } from "../../io/upstream/transport.ts";
import type { RequestSequence, UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import type { MaybePromise } from "../../kit/maybe-promise.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import type { BufferedReading } from "./error-response.ts";
import type { GatewayDeps } from "./gateway-deps.ts";
import { bufferedOutcome, type CancelHandle } from "./relay.ts";

/** Times that a question for the state of a job is repeated: the provider goes on with the job. */
const REPEATS_MAX = 3;
const REPEAT_MS = 500;

type SequentialAttempt = { readonly gateway: Pick<GatewayDeps, "timers">; readonly adapter: UpstreamAdapter };

/** Sends the further requests of a part whose first one was accepted; the last reply is the part's. */
export async function sendSequence<Run extends SequentialAttempt>(
  run: Run,
  accepted: AttemptOutcome,
  {
    sequence,
    handle,
    send,
  }: {
    readonly sequence: RequestSequence;
    readonly handle: CancelHandle;
    readonly send: (run: Run, body: string, handle: CancelHandle) => MaybePromise<AttemptOutcome>;
  },
): Promise<AttemptOutcome> {
  let outcome = accepted;
  while (outcome.is === "complete" && outcome.reply.declined === undefined) {
    const step = sequence.next();
    if (step === undefined) return outcome;
    outcome = await sendStep(run, step.adapter, step.afterMs);
    for (let repeats = 0; isTemporary(outcome) && repeats < REPEATS_MAX; repeats += 1)
      outcome = await sendStep(run, step.adapter, REPEAT_MS);
  }
  return outcome.is === "failed" ? { ...outcome, partsAccepted: true } : outcome;

  async function sendStep(of: Run, adapter: UpstreamAdapter, afterMs: number): Promise<AttemptOutcome> {
    if (afterMs > 0) await waitFor(of, afterMs, handle);
    return await send({ ...of, adapter }, "", handle);
  }
}

/** Ends early when the request is cancelled. */
function waitFor({ gateway }: SequentialAttempt, ms: number, handle: CancelHandle): Promise<void> {
  return new Promise((resolve) => {
    const timer = gateway.timers.after(ms, resolve);
    handle.call = {
      abort() {
        timer[Symbol.dispose]();
        resolve();
      },
      resume() {},
    };
  });
}

/** The provider was not reached, or is busy; what it said about the job is final. */
function isTemporary(outcome: AttemptOutcome): boolean {
  if (outcome.is !== "failed" || outcome.verdict.is !== "next" || outcome.verdict.wasNotSent === true) return false;
  const { verdict, upstreamStatus: status } = outcome;
  return verdict.isMalformed !== true && (status === null || status === 429 || status >= 500);
}

/** Reads a response that is a file, within the limit of whole responses. */
export function bytesReader(reading: BufferedReading): UpstreamBodyHandler {
  const { adapter, gateway, provider, call, resolve, failed, headers } = reading;
  const chunks: Buffer[] = [];
  let bytes = 0;
  return {
    onData(chunk) {
      bytes += chunk.length;
      if (bytes <= gateway.limits.responseMaxBytes) chunks.push(chunk);
      else {
        const verdict = classifyMalformed(`longer than ${gateway.limits.responseMaxBytes} bytes`, provider);
        resolve({ is: "failed", verdict, upstreamStatus: 200 });
        call.abort();
      }
      return "more";
    },
    onEnd() {
      const reply = adapter.decodeBytes?.(Buffer.concat(chunks), headers) ?? { unusable: "a file instead of a reply" };
      resolve(bufferedOutcome(reply, adapter, reading));
    },
    onFailure: (failure) => failed(failure, 200),
  };
}

import { LargeResponse } from "../../io/upstream/large-response.ts";
import { classifyRejection, classifyShape } from "../../io/upstream/rejected-response.ts";
import type { UpstreamAdapter } from "../../io/upstream/upstream-adapter.ts";
import { OversizedTextError } from "../../kit/json-size.ts";
import type { UnusableReply, WholeReply } from "../../language/canon/reply.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { type BufferedReading, undecodedOutcome } from "./error-response.ts";

/** A response that is too long to be read in one event-loop turn. */
export type LongResponse = {
  push(chunk: Buffer): "more" | "pause";
  finish(): void;
  stop(): void;
};

/** `outcomeOf` judges a decoded reply. */
export function openLongResponse(
  reading: BufferedReading,
  outcomeOf: (reply: WholeReply | UnusableReply, adapter: UpstreamAdapter, reading: BufferedReading) => AttemptOutcome,
): LongResponse {
  const { gateway, call, adapter, provider, resolve, failed, workspaceId, relay, headers } = reading;
  const guard = gateway.responses;
  const lease = guard.memory.open(workspaceId);
  relay.hold(lease);
  const response = new LargeResponse({
    guard,
    workspaceId,
    lease,
    form: adapter.form ?? {},
    onRejected(rejection) {
      resolve({ is: "failed", verdict: classifyRejection(rejection, provider), upstreamStatus: 200 });
      call.abort();
    },
    onDrained: () => call.resume(),
  });
  const decode = async () => {
    const document = await response.finish();
    if (document === undefined) return;
    const work = guard.turns.begin(workspaceId);
    const reply =
      adapter.decodeInSlices === undefined
        ? adapter.decodeResponse(document, headers)
        : await adapter.decodeInSlices(document, headers, work);
    if (reply !== undefined && !("unusable" in reply) && reply.heldBytes !== undefined) lease.keep(reply.heldBytes);
    const outcome = reply === undefined ? undecodedOutcome(document, reading) : outcomeOf(reply, adapter, reading);
    if (outcome.is === "failed") response.stop();
    resolve(outcome);
  };
  return {
    push: (chunk) => response.push(chunk),
    finish() {
      decode().catch((error: unknown) => {
        response.stop();
        if (error instanceof OversizedTextError)
          return resolve({ is: "failed", verdict: classifyShape(error.message, provider), upstreamStatus: 200 });
        failed({ kind: "broken", sent: true, why: error instanceof Error ? error.name : "unknown fault" }, 200);
      });
    },
    stop: () => response.stop(),
  };
}

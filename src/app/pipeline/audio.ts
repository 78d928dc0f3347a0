import { classifyFailure, classifyMalformed, type FailureVerdict } from "../../io/upstream/classify-failure.ts";
import type { UpstreamBodyHandler, UpstreamCall } from "../../io/upstream/transport.ts";
import type { AudioPiece, AudioStream } from "../../language/canon/reply.ts";
import type { AttemptOutcome } from "./attempt-outcome.ts";
import { classifyProblem, type Relay } from "./relay.ts";

type AudioReading = {
  readonly call: UpstreamCall;
  readonly stream: AudioStream;
  readonly provider: string;
  readonly resolve: (outcome: AttemptOutcome) => void;
};

/** Carries a provider's audio to the client while it comes. With its first byte the request is bound to the endpoint. */
export function audioReader(relay: Relay, { call, stream, provider, resolve }: AudioReading): UpstreamBodyHandler {
  let over = false;
  const finish = (outcome: AttemptOutcome) => {
    over = true;
    resolve(outcome);
  };
  const fail = (verdict: FailureVerdict) => {
    if (over) return;
    if (relay.clientStoppedReading) finish({ is: "gone", stream });
    else if (relay.committed) finish(relay.brokenOutcome(stream, verdict));
    else finish({ is: "failed", verdict, upstreamStatus: 200 });
    // Last, because an abort is heard here as a failure of its own.
    call.abort();
  };
  const take = (piece: AudioPiece): "more" | "pause" => {
    if (piece.is === "problem") fail(classifyProblem(piece.problem, provider));
    else if (piece.is === "malformed") fail(classifyMalformed(piece.why, provider));
    else if (piece.bytes.length > 0 && !relay.sendBytes(piece.bytes)) {
      relay.resumeWhenDrained(() => call.resume());
      return "pause";
    }
    return "more";
  };
  return {
    onData: (chunk) => {
      if (!over) return take(stream.read(chunk));
      call.abort();
      return "more";
    },
    onEnd: () => {
      if (over) return;
      take(stream.end());
      if (over) return;
      if (relay.committed) finish({ is: "relayed", stream, upstreamStatus: 200 });
      else if (relay.disconnected) finish({ is: "gone", stream });
      else fail(classifyMalformed("no audio at all", provider));
    },
    onFailure: (failure) => fail(classifyFailure(failure, provider)),
  };
}

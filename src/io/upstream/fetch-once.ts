import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { Transport, UpstreamFailure, UpstreamRequest } from "./transport.ts";

type FetchLimits = {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** 0: only the status is needed, the body is not read. */
  readonly bytesMax: number;
};

type FetchedResponse = { readonly status: number; readonly bytes: Buffer };

/** One small request of the gateway itself; resolves with the whole response or a failure. */
export function fetchOnce(
  transport: Pick<Transport, "send">,
  request: UpstreamRequest,
  { timers, timeoutMs, bytesMax }: FetchLimits,
): Promise<FetchedResponse | UpstreamFailure> {
  return new Promise((resolve) => {
    // Created first: `send` may fail synchronously.
    const deadline = timers.after(timeoutMs, () => settleAndAbort({ kind: "timeout", sent: true, why: "timeout" }));
    const settle = (outcome: FetchedResponse | UpstreamFailure) => {
      cancelTimer(deadline);
      resolve(outcome);
    };
    const settleAndAbort = (outcome: FetchedResponse | UpstreamFailure) => {
      settle(outcome);
      setImmediate(() => call.abort());
    };
    const call = transport.send(request, {
      onFailure: settle,
      onHeaders(status) {
        const chunks: Buffer[] = [];
        let bytes = 0;
        if (bytesMax === 0) settleAndAbort({ status, bytes: Buffer.alloc(0) });
        return {
          onData(chunk) {
            bytes += chunk.length;
            if (bytes <= bytesMax) chunks.push(chunk);
            else settleAndAbort({ kind: "broken", sent: true, why: `more than ${bytesMax} bytes` });
            return "more";
          },
          onEnd: () => settle({ status, bytes: Buffer.concat(chunks) }),
          onFailure: settle,
        };
      },
    });
  });
}

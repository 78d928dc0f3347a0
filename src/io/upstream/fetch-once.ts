import { cancelTimer, type Timers } from "../../kit/timers.ts";
import type { Transport, UpstreamFailure, UpstreamRequest } from "./transport.ts";

type FetchLimits = {
  readonly timers: Timers;
  readonly timeoutMs: number;
  /** 0: its status is all that is wanted, and nothing of it is read. */
  readonly bytesMax: number;
};

type FetchedResponse = { readonly status: number; readonly bytes: Buffer };

/** One small question of the gateway itself, answered as a whole or not at all. */
export function fetchOnce(
  transport: Pick<Transport, "send">,
  request: UpstreamRequest,
  { timers, timeoutMs, bytesMax }: FetchLimits,
): Promise<FetchedResponse | UpstreamFailure> {
  return new Promise((resolve) => {
    // Before the call, which may fail while it is being made.
    const deadline = timers.after(timeoutMs, () => leave({ kind: "timeout", sent: true, why: "it took too long" }));
    const settle = (found: FetchedResponse | UpstreamFailure) => {
      cancelTimer(deadline);
      resolve(found);
    };
    const leave = (found: FetchedResponse | UpstreamFailure) => {
      settle(found);
      setImmediate(() => call.abort());
    };
    const call = transport.send(request, {
      onFailure: settle,
      onHeaders(status) {
        const chunks: Buffer[] = [];
        let bytes = 0;
        if (bytesMax === 0) leave({ status, bytes: Buffer.alloc(0) });
        return {
          onData(chunk) {
            bytes += chunk.length;
            if (bytes <= bytesMax) chunks.push(chunk);
            else leave({ kind: "broken", sent: true, why: `more than ${bytesMax} bytes` });
            return "more";
          },
          onEnd: () => settle({ status, bytes: Buffer.concat(chunks) }),
          onFailure: settle,
        };
      },
    });
  });
}

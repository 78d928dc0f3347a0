import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";

export type PingRules = {
  readonly timers: Timers;
  /** Interval of pings, and how long an acknowledgement may take. */
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
};

type PingListener = {
  /** Round-trip time of a ping. */
  onPong(latencyMs: number): void;
  /** Called once, when a ping was not acknowledged in time. */
  onTimeout(): void;
};

/** Opens HTTP/2 on a tunnel with the gateway as the client and the node as the server. */
export function openNodeSession(carrier: Duplex, rules: PingRules, listener: PingListener): ClientHttp2Session {
  const session = connect("http://node", {
    createConnection: () => carrier,
    // Larger than an audio frame, small enough that a slow reader blocks the node instead of filling memory.
    settings: { initialWindowSize: 256 * 1024, enablePush: false },
  });
  startPinging(session, rules, listener);
  return session;
}

/** Pings the other side until the session closes. */
export function startPinging(session: ClientHttp2Session, rules: PingRules, { onTimeout, onPong }: PingListener): void {
  const { timers, pingEveryMs, pingTimeoutMs } = rules;
  let timer: Timer | undefined;
  let hasPinged = false;
  const ping = () => {
    if (session.destroyed || session.closed) return;
    // The connect timeout belongs to the caller.
    if (session.connecting) {
      timer = timers.after(pingEveryMs, ping);
      return;
    }
    hasPinged = true;
    // Two halves: after an event-loop stall, pending acknowledgements are read before the second half expires.
    timer = timers.after(pingTimeoutMs / 2, () => {
      timer = timers.after(pingTimeoutMs / 2, onTimeout);
    });
    const wasSent = session.ping((error, latencyMs) => {
      cancelTimer(timer);
      if (error !== null) return;
      onPong(latencyMs);
      timer = timers.after(pingEveryMs, ping);
    });
    if (!wasSent) onTimeout();
  };
  timer = timers.after(pingEveryMs, ping);
  // The first ping follows the handshake, so that the latency is known at once.
  session.once("remoteSettings", () => {
    if (hasPinged) return;
    cancelTimer(timer);
    ping();
  });
  session.once("close", () => cancelTimer(timer));
}

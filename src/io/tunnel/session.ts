import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import { stop, type Timer, type Timers } from "../../kit/timers.ts";

/** HTTP/2 on what a WebSocket carries, with the pings that find out when nobody is there any more. */
export type SessionRules = {
  readonly timers: Timers;
  /** How often the other side is asked whether it is there, and how long it may take to say so. */
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
};

/** The gateway's side: it asks, the node answers. `silent` is called once when the node does not answer any more. */
export function askingSession(carrier: Duplex, rules: SessionRules, silent: () => void): ClientHttp2Session {
  const session = connect("http://node", {
    createConnection: () => carrier,
    // Larger than a frame of audio, small enough that a slow reader holds back a node and not our memory.
    settings: { initialWindowSize: 256 * 1024, enablePush: false },
  });
  keepAsking(session, rules, silent);
  return session;
}

function keepAsking(session: ClientHttp2Session, rules: SessionRules, silent: () => void): void {
  const { timers, pingEveryMs, pingTimeoutMs } = rules;
  let timer: Timer | undefined;
  const ask = () => {
    if (session.destroyed || session.closed) return;
    timer = timers.after(pingTimeoutMs, silent);
    const isOut = session.ping((error) => {
      stop(timer);
      if (error === null) timer = timers.after(pingEveryMs, ask);
    });
    if (!isOut) silent();
  };
  timer = timers.after(pingEveryMs, ask);
  session.once("close", () => stop(timer));
}

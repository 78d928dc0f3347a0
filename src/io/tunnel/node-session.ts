import { type ClientHttp2Session, connect } from "node:http2";
import type { Duplex } from "node:stream";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";

/** HTTP/2 on what a WebSocket carries, with the pings that find out when nobody is there any more. */
export type PingRules = {
  readonly timers: Timers;
  /** How often the other side is asked whether it is there, and how long it may take to say so. */
  readonly pingEveryMs: number;
  readonly pingTimeoutMs: number;
};

type PingListener = {
  /** How long a ping took to the node and back. */
  onPong(latencyMs: number): void;
  /** Called once, when the node does not answer any more. */
  onTimeout(): void;
};

/** The gateway's side: it asks, the node answers. */
export function openNodeSession(carrier: Duplex, rules: PingRules, heard: PingListener): ClientHttp2Session {
  const session = connect("http://node", {
    createConnection: () => carrier,
    // Larger than a frame of audio, small enough that a slow reader holds back a node and not our memory.
    settings: { initialWindowSize: 256 * 1024, enablePush: false },
  });
  startPinging(session, rules, heard);
  return session;
}

/** Asks whether the other side is there, for as long as the session lives. */
export function startPinging(session: ClientHttp2Session, rules: PingRules, { onTimeout, onPong }: PingListener): void {
  const { timers, pingEveryMs, pingTimeoutMs } = rules;
  let timer: Timer | undefined;
  let asked = false;
  const ask = () => {
    if (session.destroyed || session.closed) return;
    // How long it may take to connect is for others to say.
    if (session.connecting) {
      timer = timers.after(pingEveryMs, ask);
      return;
    }
    asked = true;
    // In two halves: where this process itself stood still, the second is for what has come meanwhile.
    timer = timers.after(pingTimeoutMs / 2, () => {
      timer = timers.after(pingTimeoutMs / 2, onTimeout);
    });
    const isOut = session.ping((error, latencyMs) => {
      cancelTimer(timer);
      if (error !== null) return;
      onPong(latencyMs);
      timer = timers.after(pingEveryMs, ask);
    });
    if (!isOut) onTimeout();
  };
  timer = timers.after(pingEveryMs, ask);
  // How far away a node is can be seen as soon as it is there.
  session.once("remoteSettings", () => {
    if (asked) return;
    cancelTimer(timer);
    ask();
  });
  session.once("close", () => cancelTimer(timer));
}

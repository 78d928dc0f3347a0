import type { CacheSlot } from "../../../domain/response-cache/cached-reply.ts";
import type { ReplyCache } from "../../../domain/response-cache/reply-cache.ts";
import type { LeaderEnd } from "../../../domain/response-cache/slot-leaders.ts";
import { cancelTimer } from "../../../kit/timers.ts";
import { ClientDisconnected, type ResponseSink } from "../../exchange.ts";
import type { GatewayDeps } from "../gateway-deps.ts";

/** Failed leaders that a request waits for: identical requests to a failing provider do not queue up one behind the other. */
const LEADERS_MAX = 3;

/** Ends the lead: the next of the waiting requests continues, or all of them. */
export type EndLead = (end: LeaderEnd, written: Promise<void>) => void;

type LeaderWait = {
  readonly gateway: Pick<GatewayDeps, "timers" | "limits">;
  readonly cache: Pick<ReplyCache, "leaders">;
  readonly slot: CacheSlot;
  readonly sink: ResponseSink;
  /** Serves the request by the reply of a leader, if there is one now. */
  readonly serve: () => Promise<boolean>;
};

/**
 * Waits while an identical request runs. Returns how to end the lead once this one runs itself; `undefined`: it runs without
 * leading others. Throws when the client disconnects.
 */
export async function awaitLeader(waiting: LeaderWait): Promise<"served" | EndLead | undefined> {
  const {
    cache: { leaders },
    slot,
    serve,
  } = waiting;
  for (let waits = 0; waits < LEADERS_MAX; waits += 1) {
    const running = leaders.current(slot);
    if (running === undefined) {
      const endLead = leaders.lead(slot);
      try {
        return leaders.hasPeers ? await leadAmongPeers(waiting, endLead) : (end) => endLead(end);
      } catch (error) {
        endLead("failed");
        throw error;
      }
    }
    const end = await untilDisconnect(waiting, running);
    if (end === "kept" && (await serve())) return "served";
    if (end === "unkept" || end === "late") return undefined;
  }
  return undefined;
}

async function leadAmongPeers(waiting: LeaderWait, endLead: (end: LeaderEnd) => void): Promise<"served" | EndLead> {
  const { gateway, cache, slot, serve } = waiting;
  const locking = cache.leaders.leadAll(slot, gateway.limits.requestTimeoutMs);
  const release = () => void locking.then((lock) => lock?.release());
  try {
    await untilDisconnect(waiting, locking);
    if (await serve()) {
      release();
      endLead("kept");
      return "served";
    }
  } catch (error) {
    release();
    throw error;
  }
  return (end, written) => {
    endLead(end);
    // Other processes read the store.
    void written.then(release);
  };
}

async function untilDisconnect<T>({ gateway, sink }: LeaderWait, event: Promise<T>): Promise<T | "late"> {
  const { promise: left, resolve, reject } = Promise.withResolvers<"late">();
  sink.onDisconnect(() => reject(new ClientDisconnected()));
  const timer = gateway.timers.after(gateway.limits.requestTimeoutMs, () => resolve("late"));
  try {
    return await Promise.race([event, left]);
  } finally {
    cancelTimer(timer);
    sink.onDisconnect(() => undefined);
  }
}

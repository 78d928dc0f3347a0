import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import type { PrimaryRpcClient } from "./rpc-client.ts";
import {
  decodeHoldVerdict,
  decodeSpend,
  encodeHold,
  RPC_PROTOCOL_VERSION,
  type WorkerAssignment,
} from "./rpc-protocol.ts";

/** What a worker gets from the primary process: its assignment, and stubs of what the primary keeps for all workers. */
export type WorkerContext = WorkerAssignment & {
  readonly state: SharedState;
  readonly coordination: CoordinationStore;
  /** The primary's lock of the database: this worker writes there only while it is held. */
  readonly databaseLock: Pick<Lock, "isHeld">;
  /** Merged Prometheus text of all workers. */
  allMetrics(): Promise<string>;
};

export async function joinPrimary(primary: PrimaryRpcClient): Promise<WorkerContext> {
  const databaseLock = primaryDatabaseLock(primary);
  const assignment = await primary.call("join", { protocol: RPC_PROTOCOL_VERSION });
  return {
    ...assignment,
    databaseLock,
    state: primarySharedState(primary),
    coordination: primaryCoordinationStore(primary),
    allMetrics: () => primary.call("collectMetrics", null),
  };
}

/** A primary that does not answer may have lost the lock without knowing it. */
function primaryDatabaseLock(primary: PrimaryRpcClient): WorkerContext["databaseLock"] {
  let isHeld = false;
  primary.onNotification((notification) => {
    if (notification.is === "database_lock") isHeld = notification.isHeld;
  });
  return {
    get isHeld() {
      return isHeld && primary.isResponsive;
    },
  };
}

/** Stub of the primary's `SharedState`. */
export function primarySharedState(primary: PrimaryRpcClient): SharedState {
  return {
    consumeRateWindow: ({ id, workspaceId }, limit) => primary.call("consumeRateWindow", [id, workspaceId, limit]),
    peekRateWindow: ({ id, workspaceId }, limit) => primary.call("peekRateWindow", [id, workspaceId, limit]),
    bumpVersion: async (workspaceId) => {
      await primary.call("bumpVersion", workspaceId);
    },
    hold: async (request) => decodeHoldVerdict(await primary.call("hold", encodeHold(request))),
    settle: ({ requestId, workspaceId }, chargedNanos) =>
      primary.callEventually("settle", [requestId, workspaceId, String(chargedNanos)]),
    handOver: ({ requestId, workspaceId }) => primary.callEventually("handOver", [requestId, workspaceId]),
    releaseHold: ({ requestId, workspaceId }) => primary.callEventually("releaseHold", [requestId, workspaceId]),
    credit: (workspaceId, nanos, booking) =>
      primary.callEventually("credit", [workspaceId, String(nanos), booking ?? null]),
    announceBooking: async (id, workspaceId, createdAtMs) => {
      await primary.call("announceBooking", { id, workspaceId, createdAtMs });
    },
    withdraw: async ({ nanos, reserveNanos, ...withdrawal }) => {
      const params = { ...withdrawal, nanos: String(nanos), reserveNanos: String(reserveNanos) };
      // The primary executes the call however late; after a timeout the caller would not know what to pay back.
      return BigInt(await primary.callWithoutTimeout("withdraw", params));
    },
    wallet: async (workspaceId) => {
      const [balanceNanos, heldNanos] = await primary.call("wallet", workspaceId);
      return { balanceNanos: BigInt(balanceNanos), heldNanos: BigInt(heldNanos) };
    },
    restoreSpend: async (spends) => {
      const params = spends.map((spend) => ({ ...spend, nanos: String(spend.nanos) }));
      await primary.call("restoreSpend", params);
    },
    spending: async ({ id, workspaceId }, atMs) => {
      const { day, month } = await primary.call("spending", [id, workspaceId, atMs]);
      return { day: decodeSpend(day), month: decodeSpend(month) };
    },
    claimIdempotencyKey: async (use, requestId, run = "first") => {
      const verdict = await primary.call("claimIdempotencyKey", [use, requestId]).catch(async (error: unknown) => {
        // The primary may execute the timed-out claim later; this release then follows it.
        if (run === "first") await primary.callEventually("releaseClaim", [use.key, requestId]);
        throw error;
      });
      if (verdict.is !== "remembered") return verdict;
      return { is: "remembered", charged: { ...verdict.first, nanos: BigInt(verdict.first.nanos) } };
    },
    recordKeyUse: (use) => primary.callEventually("recordKeyUse", { ...use, nanos: String(use.nanos) }),
    releaseClaim: (key, requestId) => primary.callEventually("releaseClaim", [key, requestId]),
    sweepHolds: (maxAgeMs) => primary.call("sweepHolds", maxAgeMs),
  };
}

/** Stub of the primary's `CoordinationStore`. */
export function primaryCoordinationStore(primary: PrimaryRpcClient): CoordinationStore {
  const listeners = new Map<string, Set<(message: string) => void>>();
  primary.onNotification((notification) => {
    if (notification.is !== "published") return;
    for (const listener of listeners.get(notification.topic) ?? []) listener(notification.message);
  });
  return {
    put: async (name, value, ttlMs) => {
      await primary.call("put", [name, value, ttlMs]);
    },
    get: async (name) => (await primary.call("get", name)) ?? undefined,
    delete: async (name) => {
      await primary.call("delete", name);
    },
    list: async (prefix) => new Map(await primary.call("list", prefix)),
    async acquireLock(name, options) {
      const id = await primary.callWithoutTimeout("acquireLock", [name, options]);
      if (id === null) return undefined;
      // The primary takes the lock back only when this worker exits, and a worker exits with its primary.
      let isHeld = true;
      return {
        get isHeld() {
          return isHeld;
        },
        async release() {
          if (!isHeld) return;
          isHeld = false;
          await primary.callEventually("releaseLock", id);
        },
      };
    },
    publish: async (topic, message) => {
      await primary.call("publish", [topic, message]);
    },
    subscribe(topic, listener) {
      const subscribers = listeners.get(topic) ?? new Set();
      listeners.set(topic, subscribers.add(listener));
      return () => {
        subscribers.delete(listener);
      };
    },
    close: async () => undefined,
  };
}

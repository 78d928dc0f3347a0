import type { Duplex } from "node:stream";
import type { ChargedKeyUse } from "../../domain/admission/idempotency.ts";
import type { Lock } from "../../domain/fleet/coordination-store.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { InFlightTransfers, type LedgerAmount } from "./in-flight-transfers.ts";
import { IpcChannel } from "./ipc-channel.ts";
import { callHandler, parseRequestFrame } from "./rpc-frames.ts";
import {
  decodeHold,
  encodeHoldVerdict,
  encodeSpend,
  type PrimaryNotification,
  type RpcMethod,
  type RpcParams,
  type RpcResult,
} from "./rpc-protocol.ts";
import type { SharedResources } from "./shared-resources.ts";

/** What the store knows about the requests of a crashed worker, after its journal was replayed. */
export type RecordedOutcomes = {
  /** Zero when the store does not have the request. */
  chargedNanos(requestId: string): Promise<bigint>;
  keyUse(idempotencyKey: string): Promise<ChargedKeyUse | undefined>;
  readonly ledgerAmount: LedgerAmount;
};

type RpcHandlers = {
  readonly [Method in RpcMethod]: (params: RpcParams<Method>) => MaybePromise<RpcResult<Method>>;
};

/** Handlers that concern the worker's own lifecycle; the spawner implements them. */
export type LifecycleHandlers = Pick<
  RpcHandlers,
  "join" | "reportStarted" | "reportReady" | "collectMetrics" | "publish"
>;
type CoordinationHandlers = Pick<RpcHandlers, "put" | "get" | "delete" | "list" | "acquireLock" | "releaseLock">;
type StateHandlers = Omit<RpcHandlers, keyof LifecycleHandlers | keyof CoordinationHandlers>;

const METRICS_TIMEOUT_MS = 1_000;

/**
 * The primary's end of the pipe to one worker: executes its calls on the shared resources, and records what the worker
 * has reserved, so that it can be released when the worker crashes.
 */
export class WorkerRpcServer {
  readonly #channel: IpcChannel;
  readonly #shared: SharedResources<WorkerRpcServer>;
  readonly #handlers: RpcHandlers;
  readonly #locks = new Map<number, Lock>();
  readonly #transfers = new InFlightTransfers();
  readonly #metricsRequests = new Map<number, () => void>();
  #lastMetrics: string | undefined;
  #nextId = 1;
  #hasExited = false;

  constructor(pipe: Duplex, shared: SharedResources<WorkerRpcServer>, lifecycle: LifecycleHandlers) {
    this.#shared = shared;
    this.#handlers = { ...this.#stateHandlers(), ...this.#coordinationHandlers(), ...lifecycle };
    this.#channel = new IpcChannel(pipe, (frame) => this.#onFrame(frame));
  }

  notify(notification: PrimaryNotification): void {
    this.#channel.send([0, notification]);
  }

  /** The metrics that the worker sent last. */
  get lastMetrics(): string | undefined {
    return this.#lastMetrics;
  }

  /** Current metrics of the worker, or its last ones when it does not respond in time. */
  requestMetrics(): Promise<string | undefined> {
    if (this.#hasExited) return Promise.resolve(this.#lastMetrics);
    const requestId = this.#nextId++;
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timeout);
        this.#metricsRequests.delete(requestId);
        resolve(this.#lastMetrics);
      };
      const timeout = setTimeout(finish, METRICS_TIMEOUT_MS);
      this.#metricsRequests.set(requestId, finish);
      this.notify({ is: "metrics_requested", requestId });
    });
  }

  /** The worker process has exited: releases its locks. Holds stay until its journal is replayed. */
  async workerExited(): Promise<void> {
    this.#hasExited = true;
    for (const lock of this.#locks.values()) await lock.release();
    this.#locks.clear();
  }

  /** Settles or releases what the worker had reserved, by what the store recorded. Idempotent. */
  async settleReservations({ chargedNanos, keyUse, ledgerAmount }: RecordedOutcomes): Promise<void> {
    const { state, reservations } = this.#shared;
    const corrections = await this.#transfers.corrections(ledgerAmount);
    this.#transfers.clear();
    for (const [workspaceId, nanos] of corrections) if (nanos !== 0n) await state.credit(workspaceId, nanos);
    for (const [requestId, workspaceId] of reservations.holdsOf(this)) {
      const nanos = await chargedNanos(requestId);
      // Another worker may have resumed the request while the store was read.
      if (!reservations.ownsHold(this, requestId)) continue;
      reservations.removeHold(requestId);
      await state.settle({ requestId, workspaceId }, nanos);
    }
    for (const [key, requestId] of reservations.claimsOf(this)) {
      const use = await keyUse(key);
      if (!reservations.ownsClaim(this, key)) continue;
      reservations.removeClaim(key, requestId);
      if (use === undefined) await state.releaseClaim(key, requestId);
      else await state.recordKeyUse(use);
    }
  }

  #onFrame(received: unknown): void {
    const frame = parseRequestFrame(received);
    if (frame === undefined) return;
    if (frame.is === "metrics") {
      this.#lastMetrics = frame.text;
      this.#metricsRequests.get(frame.requestId)?.();
      return;
    }
    const { id, method, params } = frame;
    const fail = (error: unknown) =>
      this.#channel.send([id, null, error instanceof Error ? error.message : String(error)]);
    try {
      const result = callHandler<RpcMethod, MaybePromise<unknown>>(this.#handlers, method, params);
      if (result instanceof Promise) result.then((value: unknown) => this.#channel.send([id, value]), fail);
      else this.#channel.send([id, result]);
    } catch (error) {
      fail(error);
    }
  }

  #stateHandlers(): StateHandlers {
    const { state, reservations } = this.#shared;
    return {
      consumeRateWindow: ([id, workspaceId, limit]) => state.consumeRateWindow({ id, workspaceId }, limit),
      peekRateWindow: ([id, workspaceId, limit]) => state.peekRateWindow({ id, workspaceId }, limit),
      bumpVersion: (workspaceId) => thenNull(state.bumpVersion(workspaceId)),
      hold: (params) =>
        chain(state.hold(decodeHold(params)), (verdict) => {
          if (verdict.is === "held") reservations.addHold(this, params[0], params[1]);
          return encodeHoldVerdict(verdict);
        }),
      settle: ([requestId, workspaceId, nanos]) =>
        chain(state.settle({ requestId, workspaceId }, BigInt(nanos)), () => {
          reservations.removeHold(requestId);
          return null;
        }),
      handOver: ([requestId, workspaceId]) =>
        chain(state.handOver({ requestId, workspaceId }), () => {
          reservations.handOver(this, requestId);
          return null;
        }),
      releaseHold: ([requestId, workspaceId]) => chain(state.releaseHold({ requestId, workspaceId }), () => null),
      credit: ([workspaceId, nanos, booking]) => {
        this.#transfers.balanceChanged(workspaceId, BigInt(nanos));
        if (booking !== null) this.#transfers.confirm(booking);
        return thenNull(state.credit(workspaceId, BigInt(nanos)));
      },
      announceBooking: (transaction) => {
        this.#transfers.announce(transaction);
        return null;
      },
      withdraw: async ({ nanos, reserveNanos, ...withdrawal }) => {
        const amounts = { nanos: BigInt(nanos), reserveNanos: BigInt(reserveNanos) };
        const withdrawn = await state.withdraw({ ...withdrawal, ...amounts });
        this.#transfers.balanceChanged(withdrawal.workspaceId, -withdrawn);
        return String(withdrawn);
      },
      wallet: async (workspaceId) => {
        const { balanceNanos, heldNanos } = await state.wallet(workspaceId);
        return [String(balanceNanos), String(heldNanos)];
      },
      restoreSpend: (spends) =>
        thenNull(state.restoreSpend(spends.map((spend) => ({ ...spend, nanos: BigInt(spend.nanos) })))),
      spending: async ([id, workspaceId, atMs]) => {
        const { day, month } = await state.spending({ id, workspaceId }, atMs);
        return { day: encodeSpend(day), month: encodeSpend(month) };
      },
      claimIdempotencyKey: ([use, requestId]) =>
        chain(state.claimIdempotencyKey(use, requestId), (verdict) => {
          if (verdict.is === "claimed") reservations.addClaim(this, use.key, requestId);
          if (verdict.is !== "remembered") return verdict;
          return { is: "remembered", first: { ...verdict.charged, nanos: String(verdict.charged.nanos) } };
        }),
      recordKeyUse: (use) =>
        chain(state.recordKeyUse({ ...use, nanos: BigInt(use.nanos) }), () => {
          reservations.removeClaim(use.key, use.requestId);
          return null;
        }),
      releaseClaim: ([key, requestId]) =>
        chain(state.releaseClaim(key, requestId), () => {
          reservations.removeClaim(key, requestId);
          return null;
        }),
      sweepHolds: (maxAgeMs) => state.sweepHolds(maxAgeMs),
    };
  }

  #coordinationHandlers(): CoordinationHandlers {
    const { coordination } = this.#shared;
    return {
      put: ([name, value, ttlMs]) => thenNull(coordination.put(name, value, ttlMs)),
      get: async (name) => (await coordination.get(name)) ?? null,
      delete: (name) => thenNull(coordination.delete(name)),
      list: async (prefix) => [...(await coordination.list(prefix))],
      acquireLock: async ([name, options]) => {
        const lock = await coordination.acquireLock(name, options);
        if (lock === undefined) return null;
        // The worker crashed while it waited for the lock.
        if (this.#hasExited) await lock.release();
        const id = this.#nextId++;
        this.#locks.set(id, lock);
        this.#transfers.lockAcquired(id, name);
        return id;
      },
      releaseLock: async (id) => {
        const lock = this.#locks.get(id);
        this.#locks.delete(id);
        this.#transfers.lockReleased(id);
        await lock?.release();
        return null;
      },
    };
  }
}

async function thenNull(work: Promise<void>): Promise<null> {
  await work;
  return null;
}

import type { Duplex } from "node:stream";
import type { ChargedKeyUse } from "../../domain/admission/idempotency.ts";
import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { InFlightTransfers, type RecordedAmount } from "./in-flight-transfers.ts";
import { IpcChannel, type Parsed } from "./ipc-channel.ts";
import type { ReservationRegistry } from "./reservation-registry.ts";
import {
  decodeHold,
  encodeHoldVerdict,
  encodeSpend,
  keyRef,
  type PrimaryNotification,
  type RpcMethods,
} from "./rpc-protocol.ts";

/** What workers share when nothing outside this machine keeps it for them. */
export type SharedResources = {
  readonly state: SharedState;
  readonly board: CoordinationStore;
  readonly reservations: ReservationRegistry<WorkerRpcServer>;
};

/** What the books say of a request whose worker has died. */
export type RecordedOutcomes = {
  /** Nothing, where the books do not know it. */
  chargedNanos(requestId: string): Promise<bigint>;
  /** By an `Idempotency-Key` that it had taken. */
  keyUse(key: string): Promise<ChargedKeyUse | undefined>;
  /** By a transaction that it meant to write. */
  readonly bookedNanos: RecordedAmount;
};

/** What is asked of a worker's own place among the others. */
export type WorkerHandlers = {
  readonly [Name in "hello" | "up" | "ready" | "metrics"]: (
    ask: RpcMethods[Name]["ask"],
  ) => MaybePromise<RpcMethods[Name]["answer"]>;
} & {
  /** Reaches all workers. */
  readonly publish: (topic: string, message: string) => void;
};

type RpcHandlers = {
  readonly [Name in keyof RpcMethods]: (ask: RpcMethods[Name]["ask"]) => MaybePromise<RpcMethods[Name]["answer"]>;
};

const METRICS_TIMEOUT_MS = 1_000;

/** The primary's end of the pipe to one worker. It knows what the worker has taken, for when it dies. */
export class WorkerRpcServer {
  readonly #channel: IpcChannel;
  readonly #shared: SharedResources;
  readonly #handlers: RpcHandlers;
  readonly #locks = new Map<number, Lock>();
  readonly #transfers = new InFlightTransfers();
  readonly #metricsRequests = new Map<number, () => void>();
  #lastMetrics: string | undefined;
  #nextId = 1;
  #hasExited = false;

  constructor(pipe: Duplex, shared: SharedResources, place: WorkerHandlers) {
    this.#shared = shared;
    this.#handlers = {
      ...this.#stateHandlers(shared.state),
      ...this.#coordinationHandlers(shared.board, place),
      ...ofPlace(place),
    };
    this.#channel = new IpcChannel(pipe, (message) => this.#dispatch(message));
  }

  tell(news: PrimaryNotification): void {
    this.#channel.send([0, news]);
  }

  /** The worker's metrics as it told them last. */
  get lastMetrics(): string | undefined {
    return this.#lastMetrics;
  }

  /** The worker's metrics; those it told last where it does not say in time. */
  measure(): Promise<string | undefined> {
    if (this.#hasExited) return Promise.resolve(this.#lastMetrics);
    const number = this.#nextId++;
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(late);
        this.#metricsRequests.delete(number);
        resolve(this.#lastMetrics);
      };
      const late = setTimeout(settle, METRICS_TIMEOUT_MS);
      this.#metricsRequests.set(number, settle);
      this.tell({ is: "measure", number });
    });
  }

  /** The worker has ended: what it locked is free. Money waits until its journal has been read: `release`. */
  async leave(): Promise<void> {
    this.#hasExited = true;
    for (const lock of this.#locks.values()) await lock.release();
    this.#locks.clear();
  }

  /** What the worker reserved ends as its journal says: charged, or given back. */
  async release({ chargedNanos, keyUse, bookedNanos }: RecordedOutcomes): Promise<void> {
    const { state, reservations } = this.#shared;
    const missing = await this.#transfers.missing(bookedNanos);
    this.#transfers.clear();
    for (const [workspaceId, nanos] of missing) if (nanos !== 0n) await state.credit(workspaceId, nanos);
    for (const [requestId, workspaceId] of reservations.holdsOf(this)) {
      const nanos = await chargedNanos(requestId);
      // It may have been taken up meanwhile.
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

  #dispatch([number, name, ask]: Parsed): void {
    if (number === 0) {
      const [measure, text]: readonly [number, string] = ask;
      this.#lastMetrics = text;
      this.#metricsRequests.get(measure)?.();
      return;
    }
    const asked: keyof RpcMethods = name;
    const problem = (error: unknown) =>
      this.#channel.send([number, null, error instanceof Error ? error.message : String(error)]);
    try {
      const answering: (ask: Parsed) => MaybePromise<unknown> = this.#handlers[asked];
      const answer = answering(ask);
      if (answer instanceof Promise) answer.then((value) => this.#channel.send([number, value]), problem);
      else this.#channel.send([number, answer]);
    } catch (error) {
      problem(error);
    }
  }

  #stateHandlers(
    state: SharedState,
  ): Omit<RpcHandlers, keyof WorkerHandlers | "put" | "read" | "drop" | "list" | "lock" | "unlock"> {
    const { reservations } = this.#shared;
    return {
      window: (ask) => state.consumeRateWindow(keyRef(ask), ask[2]),
      look: (ask) => state.peekRateWindow(keyRef(ask), ask[2]),
      touch: (workspaceId) => asNull(state.bumpVersion(workspaceId)),
      hold: (ask) =>
        chain(state.hold(decodeHold(ask)), (verdict) => {
          if (verdict.is === "held") reservations.addHold(this, ask[0], ask[1]);
          return encodeHoldVerdict(verdict);
        }),
      settle: ([requestId, workspaceId, nanos]) =>
        chain(state.settle({ requestId, workspaceId }, BigInt(nanos)), () => {
          reservations.removeHold(requestId);
          return null;
        }),
      leave: ([requestId, workspaceId]) =>
        chain(state.handOver({ requestId, workspaceId }), () => {
          reservations.handOver(this, requestId);
          return null;
        }),
      giveBack: ([requestId, workspaceId]) => chain(state.releaseHold({ requestId, workspaceId }), () => null),
      credit: ([workspaceId, nanos, booking]) => {
        this.#transfers.moved(workspaceId, BigInt(nanos));
        if (booking !== null) this.#transfers.booked(booking);
        return asNull(state.credit(workspaceId, BigInt(nanos)));
      },
      intend: (intended) => {
        this.#transfers.intend(intended);
        return null;
      },
      take: async ({ nanos, reserveNanos, ...taking }) => {
        const taken = await state.withdraw({ ...taking, nanos: BigInt(nanos), reserveNanos: BigInt(reserveNanos) });
        this.#transfers.moved(taking.workspaceId, -taken);
        return String(taken);
      },
      wallet: async (workspaceId) => {
        const { balanceNanos, heldNanos } = await state.wallet(workspaceId);
        return [String(balanceNanos), String(heldNanos)];
      },
      restoreSpend: (spends) => asNull(state.restoreSpend(spends.map((one) => ({ ...one, nanos: BigInt(one.nanos) })))),
      spending: async ([id, workspaceId, atMs]) => {
        const { day, month } = await state.spending({ id, workspaceId }, atMs);
        return { day: encodeSpend(day), month: encodeSpend(month) };
      },
      claim: ([use, requestId]) =>
        chain(state.claimIdempotencyKey(use, requestId), (verdict) => {
          if (verdict.is === "claimed") reservations.addClaim(this, use.key, requestId);
          if (verdict.is !== "remembered") return verdict;
          return { is: "remembered", first: { ...verdict.first, nanos: String(verdict.first.nanos) } };
        }),
      remember: (use) =>
        chain(state.recordKeyUse({ ...use, nanos: BigInt(use.nanos) }), () => {
          reservations.removeClaim(use.key, use.requestId);
          return null;
        }),
      release: ([key, requestId]) =>
        chain(state.releaseClaim(key, requestId), () => {
          reservations.removeClaim(key, requestId);
          return null;
        }),
      sweep: (maxAgeMs) => state.sweepHolds(maxAgeMs),
    };
  }

  #coordinationHandlers(board: CoordinationStore, place: WorkerHandlers) {
    return {
      put: ([name, value, ttlMs]: RpcMethods["put"]["ask"]) => asNull(board.put(name, value, ttlMs)),
      read: async (name: string) => (await board.get(name)) ?? null,
      drop: (name: string) => asNull(board.delete(name)),
      list: async (prefix: string) => [...(await board.list(prefix))],
      lock: async ([name, wait]: RpcMethods["lock"]["ask"]) => {
        const lock = await board.acquireLock(name, wait);
        if (lock === undefined) return null;
        // Whoever died while it waited does not need it any more.
        if (this.#hasExited) await lock.release();
        const number = this.#nextId++;
        this.#locks.set(number, lock);
        this.#transfers.locked(number, name);
        return number;
      },
      unlock: async (number: number) => {
        const lock = this.#locks.get(number);
        this.#locks.delete(number);
        this.#transfers.unlocked(number);
        await lock?.release();
        return null;
      },
      tell: ([topic, message]: RpcMethods["tell"]["ask"]) => {
        place.publish(topic, message);
        return null;
      },
    };
  }
}

function ofPlace({ hello, up, ready, metrics }: WorkerHandlers) {
  return { hello, up, ready, metrics };
}

async function asNull(work: Promise<void>): Promise<null> {
  await work;
  return null;
}

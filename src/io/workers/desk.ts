import type { Duplex } from "node:stream";
import type { ChargedKeyUse } from "../../domain/admission/idempotency.ts";
import type { SharedState } from "../../domain/admission/shared-state.ts";
import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import { chain, type MaybePromise } from "../../kit/maybe-promise.ts";
import { Lines, type Parsed } from "./lines.ts";
import { type BookedNanos, Moving } from "./moving.ts";
import { type Asks, holdRequest, holdVerdictWire, keyOf, type News, spendWire } from "./protocol.ts";
import type { Reserved } from "./reserved.ts";

/** What workers share when nothing outside this machine keeps it for them. */
export type Shared = {
  readonly state: SharedState;
  readonly board: CoordinationStore;
  readonly reserved: Reserved<Desk>;
};

/** What the books say of a request whose worker has died. */
export type Booked = {
  /** Nothing, where the books do not know it. */
  chargedNanos(requestId: string): Promise<bigint>;
  /** By an `Idempotency-Key` that it had taken. */
  used(key: string): Promise<ChargedKeyUse | undefined>;
  /** By a transaction that it meant to write. */
  readonly bookedNanos: BookedNanos;
};

/** What is asked of a worker's own place among the others. */
export type Place = {
  readonly [Name in "hello" | "up" | "ready" | "metrics"]: (
    ask: Asks[Name]["ask"],
  ) => MaybePromise<Asks[Name]["answer"]>;
} & {
  /** Reaches all workers. */
  readonly tell: (topic: string, message: string) => void;
};

type Answers = { readonly [Name in keyof Asks]: (ask: Asks[Name]["ask"]) => MaybePromise<Asks[Name]["answer"]> };

const MEASURE_MS_MAX = 1_000;

/** The primary's end of the pipe to one worker. It knows what the worker has taken, for when it dies. */
export class Desk {
  readonly #lines: Lines;
  readonly #shared: Shared;
  readonly #answers: Answers;
  readonly #locks = new Map<number, Lock>();
  readonly #moving = new Moving();
  readonly #measuring = new Map<number, () => void>();
  #lastMeasure: string | undefined;
  #next = 1;
  #left = false;

  constructor(pipe: Duplex, shared: Shared, place: Place) {
    this.#shared = shared;
    this.#answers = { ...this.#ofState(shared.state), ...this.#ofBoard(shared.board, place), ...ofPlace(place) };
    this.#lines = new Lines(pipe, (message) => this.#take(message));
  }

  tell(news: News): void {
    this.#lines.say([0, news]);
  }

  /** The worker's metrics as it told them last. */
  get lastMeasure(): string | undefined {
    return this.#lastMeasure;
  }

  /** The worker's metrics; those it told last where it does not say in time. */
  measure(): Promise<string | undefined> {
    if (this.#left) return Promise.resolve(this.#lastMeasure);
    const number = this.#next++;
    return new Promise((resolve) => {
      const settle = () => {
        clearTimeout(late);
        this.#measuring.delete(number);
        resolve(this.#lastMeasure);
      };
      const late = setTimeout(settle, MEASURE_MS_MAX);
      this.#measuring.set(number, settle);
      this.tell({ is: "measure", number });
    });
  }

  /** The worker has ended: what it locked is free. Money waits until its journal has been read: `release`. */
  async leave(): Promise<void> {
    this.#left = true;
    for (const lock of this.#locks.values()) await lock.release();
    this.#locks.clear();
  }

  /** What the worker reserved ends as its journal says: charged, or given back. */
  async release({ chargedNanos, used, bookedNanos }: Booked): Promise<void> {
    const { state, reserved } = this.#shared;
    const missing = await this.#moving.missing(bookedNanos);
    this.#moving.clear();
    for (const [workspaceId, nanos] of missing) if (nanos !== 0n) await state.credit(workspaceId, nanos);
    for (const [requestId, workspaceId] of reserved.holdsOf(this)) {
      const nanos = await chargedNanos(requestId);
      // It may have been taken up meanwhile.
      if (!reserved.holds(this, requestId)) continue;
      reserved.settled(requestId);
      await state.settle({ requestId, workspaceId }, nanos);
    }
    for (const [key, requestId] of reserved.claimsOf(this)) {
      const use = await used(key);
      if (!reserved.claims(this, key)) continue;
      reserved.unclaimed(key, requestId);
      if (use === undefined) await state.releaseClaim(key, requestId);
      else await state.recordKeyUse(use);
    }
  }

  #take([number, name, ask]: Parsed): void {
    if (number === 0) {
      const [measure, text]: readonly [number, string] = ask;
      this.#lastMeasure = text;
      this.#measuring.get(measure)?.();
      return;
    }
    const asked: keyof Asks = name;
    const problem = (error: unknown) =>
      this.#lines.say([number, null, error instanceof Error ? error.message : String(error)]);
    try {
      const answering: (ask: Parsed) => MaybePromise<unknown> = this.#answers[asked];
      const answer = answering(ask);
      if (answer instanceof Promise) answer.then((value) => this.#lines.say([number, value]), problem);
      else this.#lines.say([number, answer]);
    } catch (error) {
      problem(error);
    }
  }

  #ofState(state: SharedState): Omit<Answers, keyof Place | "put" | "read" | "drop" | "list" | "lock" | "unlock"> {
    const { reserved } = this.#shared;
    return {
      window: (ask) => state.consumeRateWindow(keyOf(ask), ask[2]),
      look: (ask) => state.peekRateWindow(keyOf(ask), ask[2]),
      touch: (workspaceId) => done(state.bumpVersion(workspaceId)),
      hold: (ask) =>
        chain(state.hold(holdRequest(ask)), (verdict) => {
          if (verdict.is === "held") reserved.held(this, ask[0], ask[1]);
          return holdVerdictWire(verdict);
        }),
      settle: ([requestId, workspaceId, nanos]) =>
        chain(state.settle({ requestId, workspaceId }, BigInt(nanos)), () => {
          reserved.settled(requestId);
          return null;
        }),
      leave: ([requestId, workspaceId]) =>
        chain(state.handOver({ requestId, workspaceId }), () => {
          reserved.left(this, requestId);
          return null;
        }),
      giveBack: ([requestId, workspaceId]) => chain(state.releaseHold({ requestId, workspaceId }), () => null),
      credit: ([workspaceId, nanos, booking]) => {
        this.#moving.moved(workspaceId, BigInt(nanos));
        if (booking !== null) this.#moving.booked(booking);
        return done(state.credit(workspaceId, BigInt(nanos)));
      },
      intend: (intended) => {
        this.#moving.intend(intended);
        return null;
      },
      take: async ({ nanos, reserveNanos, ...taking }) => {
        const taken = await state.withdraw({ ...taking, nanos: BigInt(nanos), reserveNanos: BigInt(reserveNanos) });
        this.#moving.moved(taking.workspaceId, -taken);
        return String(taken);
      },
      wallet: async (workspaceId) => {
        const { balanceNanos, heldNanos } = await state.wallet(workspaceId);
        return [String(balanceNanos), String(heldNanos)];
      },
      restoreSpend: (spends) => done(state.restoreSpend(spends.map((one) => ({ ...one, nanos: BigInt(one.nanos) })))),
      spending: async ([id, workspaceId, atMs]) => {
        const { day, month } = await state.spending({ id, workspaceId }, atMs);
        return { day: spendWire(day), month: spendWire(month) };
      },
      claim: ([use, requestId]) =>
        chain(state.claimIdempotencyKey(use, requestId), (verdict) => {
          if (verdict.is === "claimed") reserved.claimed(this, use.key, requestId);
          if (verdict.is !== "remembered") return verdict;
          return { is: "remembered", first: { ...verdict.first, nanos: String(verdict.first.nanos) } };
        }),
      remember: (use) =>
        chain(state.recordKeyUse({ ...use, nanos: BigInt(use.nanos) }), () => {
          reserved.unclaimed(use.key, use.requestId);
          return null;
        }),
      release: ([key, requestId]) =>
        chain(state.releaseClaim(key, requestId), () => {
          reserved.unclaimed(key, requestId);
          return null;
        }),
      sweep: (maxAgeMs) => state.sweepHolds(maxAgeMs),
    };
  }

  #ofBoard(board: CoordinationStore, place: Place) {
    return {
      put: ([name, value, ttlMs]: Asks["put"]["ask"]) => done(board.put(name, value, ttlMs)),
      read: async (name: string) => (await board.get(name)) ?? null,
      drop: (name: string) => done(board.delete(name)),
      list: async (prefix: string) => [...(await board.list(prefix))],
      lock: async ([name, wait]: Asks["lock"]["ask"]) => {
        const lock = await board.acquireLock(name, wait);
        if (lock === undefined) return null;
        // Whoever died while it waited does not need it any more.
        if (this.#left) await lock.release();
        const number = this.#next++;
        this.#locks.set(number, lock);
        this.#moving.locked(number, name);
        return number;
      },
      unlock: async (number: number) => {
        const lock = this.#locks.get(number);
        this.#locks.delete(number);
        this.#moving.unlocked(number);
        await lock?.release();
        return null;
      },
      tell: ([topic, message]: Asks["tell"]["ask"]) => {
        place.tell(topic, message);
        return null;
      },
    };
  }
}

function ofPlace({ hello, up, ready, metrics }: Place) {
  return { hello, up, ready, metrics };
}

async function done(work: Promise<void>): Promise<null> {
  await work;
  return null;
}

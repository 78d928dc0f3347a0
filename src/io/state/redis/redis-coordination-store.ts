import {
  type CoordinationStore,
  isWalletLock,
  type Lock,
  type LockOptions,
} from "../../../domain/fleet/coordination-store.ts";
import type { Timers } from "../../../kit/timers.ts";
import { DROP_NOTE, LIST_NOTES, MARK_MOVING, PUT_NOTE } from "./fleet-scripts.ts";
import type { Names } from "./key-space.ts";
import { type Line, openLine } from "./reconnecting-client.ts";
import type { Connection } from "./redis-connection.ts";
import { CommandRejected, OutcomeUnknown, redisUnavailable } from "./redis-errors.ts";
import { letGo, RedisLock } from "./redis-lock.ts";
import { listOf, textOf, textOrNone } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";

const LOCK_ASK_EVERY_MS = 40;
/**
 * Whoever changes money and is not heard of for this long is gone. Longer than an instance that died counts as alive:
 * wallets are filled again without waiting for it.
 */
const MOVING_MS = 30_000;

type Deps = Pick<RedisSettings, "url" | "ca" | "clock" | "timers" | "log" | "newToken"> & {
  readonly connection: Connection;
  readonly names: Names;
  /** A change of wallets waits for Redis. */
  readonly owesMoney: () => boolean;
};

export class RedisBoard implements CoordinationStore {
  readonly #deps: Deps;
  readonly #locks = new Set<RedisLock>();
  readonly #moneyLocks = new Set<RedisLock>();
  /** Changes of money that Redis knows of, by the token of their lock. */
  readonly #moving = new Map<string, "moves" | "over">();
  /** Bookings that nobody knows the end of yet. */
  readonly #intended = new Set<string>();
  readonly #heard = new Map<string, Set<(message: string) => void>>();
  #line: Line | undefined;
  #isClosed = false;
  /** While wallets are being opened nobody begins to change money. */
  moneyMayMove: () => boolean = () => true;

  constructor(deps: Deps) {
    this.#deps = deps;
  }

  async open(): Promise<void> {
    this.#line = await openLine(this.#deps, () => undefined);
  }

  get movingMoney(): number {
    return this.#moneyLocks.size;
  }

  /** Whether SQL has a change, or may have it, that wallets have not. */
  get owesMoney(): boolean {
    return this.#intended.size > 0 || this.#deps.owesMoney();
  }

  intend(booking: string): void {
    this.#intended.add(booking);
  }

  /** What came of it is in its wallet, or waits for Redis. */
  booked(booking: string): void {
    this.#intended.delete(booking);
  }

  /** Redis may have lost locks: whoever has none any more is to know at once. */
  async checkLocks(): Promise<void> {
    await Promise.all([...this.#locks].map((lock) => lock.check()));
  }

  /**
   * Redis hears that money is still moved here, and of what is over. If this instance dies in between, others find its
   * word, and fill the wallets again from SQL: only that knows how far it came.
   */
  async tellMoving(): Promise<void> {
    const { connection, names } = this.#deps;
    const of = (is: "moves" | "over") => [...this.#moving].filter(([, now]) => now === is).map(([token]) => token);
    const [moves, over] = [of("moves"), of("over")];
    // What is over in SQL may still be on its way into a wallet, or in doubt: one word stays for all of that.
    const last = this.owesMoney ? over.splice(-1) : [];
    const key = names.fleet("moving");
    const still = [...moves, ...last];
    if (still.length > 0) await connection.run(MARK_MOVING, [key], [String(MOVING_MS), ...still]);
    if (over.length === 0) return;
    await connection.send(["ZREM", key, ...over]);
    for (const token of over) this.#moving.delete(token);
  }

  async put(name: string, value: string, ttlMs: number): Promise<void> {
    const { names } = this.#deps;
    const keys = [names.board(`note:${name}`), names.board("notes"), names.board("notes-until")];
    await this.#asked(this.#deps.connection.run(PUT_NOTE, keys, [name, value, String(Math.ceil(ttlMs))]));
  }

  async get(name: string): Promise<string | undefined> {
    const { connection, names } = this.#deps;
    return textOrNone(await this.#asked(connection.send(["GET", names.board(`note:${name}`)])));
  }

  async delete(name: string): Promise<void> {
    const { connection, names } = this.#deps;
    const keys = [names.board(`note:${name}`), names.board("notes"), names.board("notes-until")];
    await this.#asked(connection.run(DROP_NOTE, keys, [name]));
  }

  async list(prefix: string): Promise<ReadonlyMap<string, string>> {
    const { connection, names } = this.#deps;
    const args = [`[${prefix}`, `(${prefix}\xff`, names.board("note:")];
    const found = listOf(await this.#asked(connection.run(LIST_NOTES, [names.board("notes")], args)));
    const notes = new Map<string, string>();
    for (let at = 0; at < found.length; at += 2)
      notes.set(textOf(found[at]).slice(prefix.length), textOf(found[at + 1]));
    return notes;
  }

  async acquireLock(name: string, wait: LockOptions): Promise<Lock | undefined> {
    const { clock } = this.#deps;
    const isMoney = isWalletLock(name);
    const untilMs = clock.monotonicMs() + wait.waitMs;
    for (;;) {
      const lock = isMoney && !this.moneyMayMove() ? undefined : await this.#tryLock(name, wait.ttlMs, isMoney);
      if (lock !== undefined) return lock;
      if (clock.monotonicMs() >= untilMs) return undefined;
      await pause(this.#deps.timers, LOCK_ASK_EVERY_MS);
    }
  }

  async #tryLock(name: string, ttlMs: number, isMoney: boolean): Promise<RedisLock | undefined> {
    const { connection, names, clock, newToken } = this.#deps;
    const key = names.board(`lock:${name}`);
    const token = newToken();
    const atMs = clock.monotonicMs();
    const asked = connection.send(["SET", key, token, "NX", "PX", String(Math.ceil(ttlMs))]);
    asked.catch((error: unknown) => {
      // It may have been given all the same, to nobody.
      if (error instanceof OutcomeUnknown) void letGo(this.#deps, { key, token, ttlMs });
    });
    const reply = await this.#asked(asked);
    if (reply !== "OK") return undefined;
    const lock: RedisLock = new RedisLock(this.#deps, key, token, { atMs, ttlMs }, () => {
      this.#locks.delete(lock);
      if (!this.#moneyLocks.delete(lock)) return;
      this.#moving.set(token, "over");
      // Where this does not arrive it is told again.
      this.tellMoving().catch(() => undefined);
    });
    this.#locks.add(lock);
    if (!isMoney) return lock;
    this.#moneyLocks.add(lock);
    this.#moving.set(token, "moves");
    try {
      await this.#asked(this.tellMoving());
    } catch (error) {
      await lock.release();
      throw error;
    }
    if (this.moneyMayMove()) return lock;
    await lock.release();
    return undefined;
  }

  async publish(topic: string, message: string): Promise<void> {
    const { connection, names } = this.#deps;
    await this.#asked(connection.send(["PUBLISH", names.topic(topic), message]));
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    const channel = this.#deps.names.topic(topic);
    const known = this.#heard.get(channel);
    const listeners = known ?? new Set();
    listeners.add(listener);
    if (known === undefined) {
      this.#heard.set(channel, listeners);
      void this.#subscribe(channel, listeners);
    }
    return () => {
      listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    const locks = [...this.#moneyLocks];
    // What still runs under them is not over: their words stay, and others look into it.
    this.#moneyLocks.clear();
    for (const lock of locks) await lock.release();
    await this.tellMoving().catch(() => undefined);
    this.#isClosed = true;
    this.#line?.close();
  }

  /** The client subscribes again whenever it connects again; only the first time must succeed, on whichever connection. */
  async #subscribe(channel: string, listeners: ReadonlySet<(message: string) => void>): Promise<void> {
    const { timers, log } = this.#deps;
    for (let tries = 0; ; tries += 1) {
      const client = this.#line?.client;
      if (client === undefined || this.#isClosed) return;
      try {
        await client.subscribe(channel, (message) => {
          for (const listener of listeners) listener(message);
        });
        return;
      } catch (error) {
        if (tries === 0) log.warn({ err: error, channel }, "messages of other instances cannot be heard yet");
      }
      await pause(timers, LOCK_ASK_EVERY_MS);
    }
  }

  async #asked<T>(reply: Promise<T>): Promise<T> {
    try {
      return await reply;
    } catch (error) {
      throw error instanceof CommandRejected || error instanceof OutcomeUnknown ? redisUnavailable(error) : error;
    }
  }
}

export function pause(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(ms, resolve);
  });
}

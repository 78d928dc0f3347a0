import {
  type CoordinationStore,
  isWalletLock,
  type Lock,
  type LockOptions,
} from "../../../domain/fleet/coordination-store.ts";
import type { Timers } from "../../../kit/timers.ts";
import type { KeySpace } from "./key-space.ts";
import { luaScript } from "./lua-script.ts";
import { openClient } from "./open-client.ts";
import type { ReconnectingClient } from "./reconnecting-client.ts";
import type { RedisConnection } from "./redis-connection.ts";
import { OutcomeUnknown, unavailableOnFailure } from "./redis-errors.ts";
import { RedisLock, releaseGrant } from "./redis-lock.ts";
import { listReply, optionalTextReply, textReply } from "./redis-replies.ts";
import type { RedisSettings } from "./redis-state.ts";
import type { WalletChangeMarkers } from "./wallet-change-markers.ts";

const LOCK_RETRY_MS = 40;
const SUBSCRIBE_RETRY_MS = 40;

/** Names are also kept in order, so that a prefix is listed without a scan. Each write evicts a few expired names. */
const PUT_NOTE = luaScript(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 10)) do
  redis.call('ZREM', KEYS[2], name)
  redis.call('ZREM', KEYS[3], name)
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
`);

const DELETE_NOTE = luaScript(`
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
`);

/** ARGV: first name, the name after the last, key prefix of notes. */
const LIST_NOTES = luaScript(`
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2])) do
  local value = redis.call('GET', ARGV[3] .. name)
  if value then
    found[#found + 1] = name
    found[#found + 1] = value
  else
    redis.call('ZREM', KEYS[1], name)
  end
end
return found
`);

type RedisCoordinationStoreDeps = Pick<
  RedisSettings,
  "url" | "sentinels" | "ca" | "clock" | "timers" | "log" | "newToken"
> & {
  readonly connection: RedisConnection;
  readonly keys: KeySpace;
  readonly walletChanges: WalletChangeMarkers;
};

export class RedisCoordinationStore implements CoordinationStore {
  readonly #deps: RedisCoordinationStoreDeps;
  readonly #locks = new Set<RedisLock>();
  readonly #walletLocks = new Set<RedisLock>();
  readonly #listeners = new Map<string, Set<(message: string) => void>>();
  /** Pub/sub needs a connection of its own. */
  #subscriber: ReconnectingClient | undefined;
  #isClosed = false;

  constructor(deps: RedisCoordinationStoreDeps) {
    this.#deps = deps;
  }

  async open(): Promise<void> {
    this.#subscriber = await openClient(this.#deps, () => undefined);
  }

  /** Redis may have lost locks: their holders must notice at once. */
  async checkLocks(): Promise<void> {
    await Promise.all([...this.#locks].map((lock) => lock.check()));
  }

  async put(name: string, value: string, ttlMs: number): Promise<void> {
    const { connection, keys } = this.#deps;
    const noteKeys = [keys.note(name), keys.noteNames, keys.noteExpiries];
    await unavailableOnFailure(connection.run(PUT_NOTE, noteKeys, [name, value, String(Math.ceil(ttlMs))]));
  }

  async get(name: string): Promise<string | undefined> {
    const { connection, keys } = this.#deps;
    return optionalTextReply(await unavailableOnFailure(connection.send(["GET", keys.note(name)])));
  }

  async delete(name: string): Promise<void> {
    const { connection, keys } = this.#deps;
    const noteKeys = [keys.note(name), keys.noteNames, keys.noteExpiries];
    await unavailableOnFailure(connection.run(DELETE_NOTE, noteKeys, [name]));
  }

  async list(prefix: string): Promise<ReadonlyMap<string, string>> {
    const { connection, keys } = this.#deps;
    const args = [`[${prefix}`, `(${prefix}\xff`, keys.notePrefix];
    const found = listReply(await unavailableOnFailure(connection.run(LIST_NOTES, [keys.noteNames], args)));
    const notes = new Map<string, string>();
    for (let at = 0; at < found.length; at += 2)
      notes.set(textReply(found[at]).slice(prefix.length), textReply(found[at + 1]));
    return notes;
  }

  async acquireLock(name: string, options: LockOptions): Promise<Lock | undefined> {
    const { clock, walletChanges } = this.#deps;
    const isWallet = isWalletLock(name);
    const untilMs = clock.monotonicMs() + options.waitMs;
    for (;;) {
      const isBlocked = isWallet && !walletChanges.isChangeAllowed();
      const lock = isBlocked ? undefined : await this.#tryLock(name, options.ttlMs, isWallet);
      if (lock !== undefined) return lock;
      if (clock.monotonicMs() >= untilMs) return undefined;
      await delay(this.#deps.timers, LOCK_RETRY_MS);
    }
  }

  async #tryLock(name: string, ttlMs: number, isWallet: boolean): Promise<RedisLock | undefined> {
    const { connection, keys, clock, newToken, walletChanges } = this.#deps;
    const grant = { key: keys.lock(name), token: newToken(), ttlMs };
    const requestedAtMs = clock.monotonicMs();
    const requested = connection.send(["SET", grant.key, grant.token, "NX", "PX", String(Math.ceil(ttlMs))]);
    requested.catch((error: unknown) => {
      // Redis may have granted it although the reply is lost.
      if (error instanceof OutcomeUnknown) void releaseGrant(this.#deps, grant);
    });
    const reply = await unavailableOnFailure(requested);
    if (reply !== "OK") return undefined;
    const lock: RedisLock = new RedisLock(this.#deps, grant, requestedAtMs, () => {
      this.#locks.delete(lock);
      if (this.#walletLocks.delete(lock)) walletChanges.finish(grant.token);
    });
    this.#locks.add(lock);
    if (!isWallet) return lock;
    this.#walletLocks.add(lock);
    try {
      await unavailableOnFailure(walletChanges.begin(grant.token));
    } catch (error) {
      await lock.release();
      throw error;
    }
    if (walletChanges.isChangeAllowed()) return lock;
    await lock.release();
    return undefined;
  }

  async publish(topic: string, message: string): Promise<void> {
    const { connection, keys } = this.#deps;
    await unavailableOnFailure(connection.send(["PUBLISH", keys.channel(topic), message]));
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    const channel = this.#deps.keys.channel(topic);
    const known = this.#listeners.get(channel);
    const listeners = known ?? new Set();
    listeners.add(listener);
    if (known === undefined) {
      this.#listeners.set(channel, listeners);
      void this.#subscribeChannel(channel, listeners);
    }
    return () => {
      listeners.delete(listener);
    };
  }

  async close(): Promise<void> {
    const { walletChanges } = this.#deps;
    walletChanges.abandonActive();
    for (const lock of [...this.#walletLocks]) await lock.release();
    await walletChanges.publish().catch(() => undefined);
    this.#isClosed = true;
    this.#subscriber?.close();
  }

  /** The client renews subscriptions when it reconnects; only the first attempt is retried here. */
  async #subscribeChannel(channel: string, listeners: ReadonlySet<(message: string) => void>): Promise<void> {
    const { timers, log } = this.#deps;
    for (let attempts = 0; ; attempts += 1) {
      const client = this.#subscriber?.client;
      if (client === undefined || this.#isClosed) return;
      try {
        await client.subscribe(channel, (message) => {
          for (const listener of listeners) listener(message);
        });
        return;
      } catch (error) {
        if (attempts === 0) log.warn({ err: error, channel }, "redis: subscribe failed, retrying");
      }
      await delay(timers, SUBSCRIBE_RETRY_MS);
    }
  }
}

export function delay(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => {
    timers.after(ms, resolve);
  });
}

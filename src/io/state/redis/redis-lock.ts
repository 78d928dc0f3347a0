import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../../kit/clock.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { luaScript } from "./lua-script.ts";
import type { RedisConnection } from "./redis-connection.ts";

type RedisLockDeps = { readonly connection: RedisConnection; readonly clock: Clock; readonly timers: Timers };

/** `key` holds `token` for `ttlMs`. */
export type LockGrant = { readonly key: string; readonly token: string; readonly ttlMs: number };

const RELEASE_RETRY_MS = 100;

/** ARGV: token, new TTL. Only the holder renews. */
const RENEW_LOCK = luaScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);

/** ARGV: token. Only the holder releases. */
const RELEASE_LOCK = luaScript(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);

/** Resolves after the first attempt; retries in the background until the TTL has ended the lock anyway. */
export async function releaseGrant(deps: RedisLockDeps, { key, token, ttlMs }: LockGrant): Promise<void> {
  const { connection, clock, timers } = deps;
  const untilMs = clock.monotonicMs() + ttlMs;
  const release = async () => {
    const isReleased = await connection.run(RELEASE_LOCK, [key], [token]).then(
      () => true,
      () => false,
    );
    if (!isReleased && clock.monotonicMs() < untilMs) timers.after(RELEASE_RETRY_MS, () => void release()).unref?.();
  };
  await release();
}

/** A lease that renews itself. It counts as held only while Redis certainly has it. */
export class RedisLock implements Lock {
  readonly #deps: RedisLockDeps;
  readonly #grant: LockGrant;
  readonly #onRelease: () => void;
  #heldUntilMs: number;
  #timer: Timer | undefined;
  #isLost = false;
  #isReleased = false;

  /** `requestedAtMs`: from then on the TTL runs at the earliest. */
  constructor(deps: RedisLockDeps, grant: LockGrant, requestedAtMs: number, onRelease: () => void) {
    this.#deps = deps;
    this.#grant = grant;
    this.#onRelease = onRelease;
    this.#heldUntilMs = requestedAtMs + grant.ttlMs;
    this.#scheduleRenewal();
  }

  get isHeld(): boolean {
    return !this.#isLost && this.#deps.clock.monotonicMs() < this.#heldUntilMs;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#isLost = true;
    cancelTimer(this.#timer);
    this.#onRelease();
    await releaseGrant(this.#deps, this.#grant);
  }

  /** Renews now, because Redis may have lost the lock. */
  async check(): Promise<void> {
    cancelTimer(this.#timer);
    await this.#renew();
  }

  #scheduleRenewal(): void {
    cancelTimer(this.#timer);
    this.#timer = this.#deps.timers.after(Math.max(1, this.#grant.ttlMs / 3), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    if (this.#isLost) return;
    const { connection, clock } = this.#deps;
    const { key, token, ttlMs } = this.#grant;
    const atMs = clock.monotonicMs();
    const renewed = await connection.run(RENEW_LOCK, [key], [token, String(ttlMs)]).catch(() => "unknown");
    if (this.#isLost) return;
    if (renewed === 1) this.#heldUntilMs = atMs + ttlMs;
    if (renewed === 0 || clock.monotonicMs() >= this.#heldUntilMs) {
      // The work under it goes on until it releases the lock; commits check `isHeld`.
      this.#isLost = true;
      return;
    }
    this.#scheduleRenewal();
  }
}

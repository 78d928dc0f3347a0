import type { Lock } from "../../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../../kit/clock.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { RELEASE_LOCK, RENEW_LOCK } from "./fleet-scripts.ts";
import type { Connection } from "./redis-connection.ts";

type Deps = { readonly connection: Connection; readonly clock: Clock; readonly timers: Timers };

const LET_GO_AGAIN_MS = 100;

/**
 * Tells Redis that a lock is free, and resolves; where that does not arrive it is told again beside, until the time of the
 * lock has ended it: others would wait for that.
 */
export async function letGo(deps: Deps, lock: { key: string; token: string; ttlMs: number }): Promise<void> {
  const { connection, clock, timers } = deps;
  const untilMs = clock.monotonicMs() + lock.ttlMs;
  const tell = async () => {
    const isHeard = await connection.run(RELEASE_LOCK, [lock.key], [lock.token]).then(
      () => true,
      () => false,
    );
    if (!isHeard && clock.monotonicMs() < untilMs) timers.after(LET_GO_AGAIN_MS, () => void tell()).unref?.();
  };
  await tell();
}

/** A lock that is renewed while it is held. It counts as held only for as long as Redis certainly knows of it. */
export class RedisLock implements Lock {
  readonly #deps: Deps;
  readonly #key: string;
  readonly #token: string;
  readonly #ttlMs: number;
  readonly #released: () => void;
  #heldUntilMs: number;
  #timer: Timer | undefined;
  #isLost = false;
  #isReleased = false;

  constructor(
    deps: Deps,
    key: string,
    token: string,
    since: { readonly atMs: number; readonly ttlMs: number },
    released: () => void,
  ) {
    this.#deps = deps;
    this.#key = key;
    this.#token = token;
    this.#ttlMs = since.ttlMs;
    this.#released = released;
    this.#heldUntilMs = since.atMs + since.ttlMs;
    this.#renewLater();
  }

  get isHeld(): boolean {
    return !this.#isLost && this.#deps.clock.monotonicMs() < this.#heldUntilMs;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#isLost = true;
    cancelTimer(this.#timer);
    this.#released();
    await letGo(this.#deps, { key: this.#key, token: this.#token, ttlMs: this.#ttlMs });
  }

  /** Redis may have lost it. */
  async check(): Promise<void> {
    cancelTimer(this.#timer);
    await this.#renew();
  }

  #renewLater(): void {
    cancelTimer(this.#timer);
    this.#timer = this.#deps.timers.after(Math.max(1, this.#ttlMs / 3), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    if (this.#isLost) return;
    const { connection, clock } = this.#deps;
    const atMs = clock.monotonicMs();
    const args = [this.#token, String(this.#ttlMs)];
    const renewed = await connection.run(RENEW_LOCK, [this.#key], args).catch(() => "unknown");
    if (this.#isLost) return;
    if (renewed === 1) this.#heldUntilMs = atMs + this.#ttlMs;
    if (renewed === 0 || clock.monotonicMs() >= this.#heldUntilMs) {
      // What is done under it goes on all the same, until it is released.
      this.#isLost = true;
      return;
    }
    this.#renewLater();
  }
}

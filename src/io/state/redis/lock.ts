import type { Lock } from "../../../domain/fleet/board.ts";
import type { Clock } from "../../../kit/clock.ts";
import { stop, type Timer, type Timers } from "../../../kit/timers.ts";
import type { Connection } from "./connection.ts";
import { RELEASE_LOCK, RENEW_LOCK } from "./fleet-scripts.ts";

type Deps = { readonly connection: Connection; readonly clock: Clock; readonly timers: Timers };

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
    return !this.#isLost && this.#deps.clock.elapsedMs() < this.#heldUntilMs;
  }

  async release(): Promise<void> {
    if (this.#isReleased) return;
    this.#isReleased = true;
    this.#isLost = true;
    stop(this.#timer);
    this.#released();
    // Where this does not arrive, its time ends it.
    await this.#deps.connection.run(RELEASE_LOCK, [this.#key], [this.#token]).catch(() => undefined);
  }

  /** Redis may have lost it. */
  async check(): Promise<void> {
    stop(this.#timer);
    await this.#renew();
  }

  #renewLater(): void {
    stop(this.#timer);
    this.#timer = this.#deps.timers.after(Math.max(1, this.#ttlMs / 3), () => void this.#renew());
  }

  async #renew(): Promise<void> {
    if (this.#isLost) return;
    const { connection, clock } = this.#deps;
    const atMs = clock.elapsedMs();
    const args = [this.#token, String(this.#ttlMs)];
    const renewed = await connection.run(RENEW_LOCK, [this.#key], args).catch(() => "unknown");
    if (this.#isLost) return;
    if (renewed === 1) this.#heldUntilMs = atMs + this.#ttlMs;
    if (renewed === 0 || clock.elapsedMs() >= this.#heldUntilMs) {
      // What is done under it goes on all the same, until it is released.
      this.#isLost = true;
      return;
    }
    this.#renewLater();
  }
}

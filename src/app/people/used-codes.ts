import { BoundedMap } from "../../kit/bounded.ts";
import type { Clock } from "../../kit/clock.ts";

/** Longer than any code of an app is taken: its half minute, and one before and after. */
const REMEMBERED_MS = 150_000;
const REMEMBERED_MAX = 10_000;

/** Codes that have signed somebody in a moment ago. */
export class UsedCodes {
  readonly #clock: Clock;
  readonly #usedMs = new BoundedMap<string, number>(REMEMBERED_MAX);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** False: it was used before. */
  use(personId: string, code: string): boolean {
    const [name, now] = [`${personId} ${code}`, this.#clock.elapsedMs()];
    const usedMs = this.#usedMs.get(name);
    if (usedMs !== undefined && now - usedMs < REMEMBERED_MS) return false;
    this.#usedMs.set(name, now);
    return true;
  }
}

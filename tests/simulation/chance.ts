/** All randomness of a run, drawn from one seed: the same seed makes the same world. */
export class Chance {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not begin alike.
    this.#state = Math.imul(seed ^ 0x9e3779b9, 0x85ebca6b) ^ (seed >>> 7);
    for (let n = 0; n < 4; n += 1) this.next();
  }

  /** From 0 up to 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), 1 | this.#state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** An integer, both ends included. */
  between(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  is(share: number): boolean {
    return this.next() < share;
  }

  pick<T>(from: readonly T[]): T {
    const found = from[Math.floor(this.next() * from.length)];
    if (found === undefined) throw new Error("there is nothing to pick from");
    return found;
  }

  /** Uniformly. */
  some<T>(from: readonly T[], share: number): T[] {
    return from.filter(() => this.is(share));
  }

  atLeastOne<T>(from: readonly T[], share: number): T[] {
    const some = this.some(from, share);
    return some.length > 0 ? some : [this.pick(from)];
  }
}

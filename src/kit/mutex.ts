/** Lets one in at a time, in the order of arrival. */
export class Mutex {
  #taken = false;
  readonly #queue: (() => void)[] = [];
  /** How many wait, visible to other threads. */
  readonly waiting = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

  enter(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#queue.push(resolve);
      Atomics.store(this.waiting, 0, this.#queue.length);
    });
  }

  leave(): void {
    const next = this.#queue.shift();
    Atomics.store(this.waiting, 0, this.#queue.length);
    if (next === undefined) this.#taken = false;
    else next();
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    await this.enter();
    try {
      return await work();
    } finally {
      this.leave();
    }
  }
}

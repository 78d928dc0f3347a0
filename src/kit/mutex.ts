/** Lets one in at a time, in the order of arrival. */
export class Mutex {
  #taken = false;
  readonly #queue: (() => void)[] = [];

  enter(): Promise<void> {
    if (!this.#taken) {
      this.#taken = true;
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      this.#queue.push(resolve);
    });
  }

  leave(): void {
    const next = this.#queue.shift();
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

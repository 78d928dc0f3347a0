/** Whether the primary process holds the lock of its database, which it passes on to the workers that write there. */
export class DatabaseLock {
  readonly #listeners = new Set<(isHeld: boolean) => void>();
  #isHeld = true;

  get isHeld(): boolean {
    return this.#isHeld;
  }

  set(isHeld: boolean): void {
    this.#isHeld = isHeld;
    for (const listener of this.#listeners) listener(isHeld);
  }

  onChange(listener: (isHeld: boolean) => void): void {
    this.#listeners.add(listener);
  }
}

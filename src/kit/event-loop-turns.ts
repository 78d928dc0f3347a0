/** Characters and values that one event-loop turn reads. */
export type TurnWork = { readonly chars: number; readonly values: number };

/**
 * Shares the event loop among long computations: in each turn of the loop one of them works, up to the limit of a turn. In
 * between, the loop serves everything else. Owners take turns, so that one with many computations delays no other.
 */
export class EventLoopTurns {
  readonly limit: TurnWork;
  readonly #onTurn: ((work: TurnWork) => void) | undefined;
  /** By owner, in the order of their next turns. */
  readonly #waiting = new Map<unknown, (() => void)[]>();
  #isScheduled = false;

  /** `onTurn` receives the work of each turn. */
  constructor(limit: TurnWork, onTurn?: (work: TurnWork) => void) {
    this.limit = limit;
    this.#onTurn = onTurn;
  }

  begin(owner: unknown): SlicedWork {
    return new SlicedWork(this, owner);
  }

  next(owner: unknown): Promise<void> {
    return new Promise((resolve) => {
      const own = this.#waiting.get(owner);
      if (own === undefined) this.#waiting.set(owner, [resolve]);
      else own.push(resolve);
      this.#schedule();
    });
  }

  report(work: TurnWork): void {
    this.#onTurn?.(work);
  }

  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#runNext();
      if (this.#waiting.size > 0) this.#schedule();
    });
  }

  #runNext(): void {
    for (const [owner, own] of this.#waiting) {
      // The owner goes behind all others.
      this.#waiting.delete(owner);
      const resolve = own.shift();
      if (own.length > 0) this.#waiting.set(owner, own);
      resolve?.();
      return;
    }
  }
}

/** One computation in steps: before each step it takes room in its turn, or waits for the next one. */
export class SlicedWork {
  readonly #turns: EventLoopTurns;
  readonly #owner: unknown;
  #isInTurn = false;
  #chars = 0;
  #values = 0;

  constructor(turns: EventLoopTurns, owner: unknown) {
    this.#turns = turns;
    this.#owner = owner;
  }

  get limit(): TurnWork {
    return this.#turns.limit;
  }

  /** False: the step does not fit into this turn; wait for `next`. The first step of a turn always fits. */
  fits(chars: number, values: number): boolean {
    if (!this.#isInTurn) return false;
    const { limit } = this.#turns;
    return this.#chars === 0 || (this.#chars + chars <= limit.chars && this.#values + values <= limit.values);
  }

  add(chars: number, values: number): void {
    this.#chars += chars;
    this.#values += values;
  }

  async next(): Promise<void> {
    this.end();
    await this.#turns.next(this.#owner);
    this.#isInTurn = true;
  }

  /** Ends the turn, before waiting for anything else. */
  end(): void {
    if (this.#isInTurn && (this.#chars > 0 || this.#values > 0))
      this.#turns.report({ chars: this.#chars, values: this.#values });
    this.#isInTurn = false;
    this.#chars = 0;
    this.#values = 0;
  }
}

/** Characters and values that one event-loop turn reads. */
export type TurnWork = { readonly chars: number; readonly values: number };

/**
 * Shares the event loop among long computations: in each turn of the loop one of them works, up to the limit of a turn. In
 * between, the loop serves everything else.
 */
export class EventLoopTurns {
  readonly limit: TurnWork;
  readonly #onTurn: ((work: TurnWork) => void) | undefined;
  readonly #waiting: (() => void)[] = [];
  #isScheduled = false;

  /** `onTurn` receives the work of each turn. */
  constructor(limit: TurnWork, onTurn?: (work: TurnWork) => void) {
    this.limit = limit;
    this.#onTurn = onTurn;
  }

  begin(): SlicedWork {
    return new SlicedWork(this);
  }

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
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
      this.#waiting.shift()?.();
      if (this.#waiting.length > 0) this.#schedule();
    });
  }
}

/** One computation in steps: before each step it takes room in its turn, or waits for the next one. */
export class SlicedWork {
  readonly #turns: EventLoopTurns;
  #isInTurn = false;
  #chars = 0;
  #values = 0;

  constructor(turns: EventLoopTurns) {
    this.#turns = turns;
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
    await this.#turns.next();
    this.#isInTurn = true;
  }

  /** Ends the turn, before waiting for anything else. */
  end(): void {
    if (this.#isInTurn && this.#chars > 0) this.#turns.report({ chars: this.#chars, values: this.#values });
    this.#isInTurn = false;
    this.#chars = 0;
    this.#values = 0;
  }
}

import type { Timers } from "../../src/kit/timers.ts";

const realImmediate = setImmediate;

let scheduler: Timers | undefined;

/** Timers of the journal and the ingester go to the scheduler of the running world. */
export function useTimersOf(next: Timers): void {
  scheduler = next;
}

class FakeTimer {
  readonly #then: () => void;
  readonly #everyMs: number | undefined;
  #isOff = false;

  constructor(then: () => void, ms: number, kind: "once" | "again and again") {
    this.#then = then;
    this.#everyMs = kind === "once" ? undefined : ms;
    this.#arm(ms);
  }

  #arm(ms: number): void {
    if (scheduler === undefined) throw new Error("there is no world");
    scheduler.after(ms, () => {
      if (this.#isOff) return;
      this.#then();
      if (this.#everyMs !== undefined && !this.#isOff) this.#arm(this.#everyMs);
    });
  }

  unref(): this {
    return this;
  }

  off(): void {
    this.#isOff = true;
  }
}

/** After the guard: virtual timers, the order of the real loop, and meaningless names. */
export function allowVirtualTimers(): void {
  const clear = (timer: unknown) => {
    if (timer instanceof FakeTimer) timer.off();
  };
  Object.assign(globalThis, {
    setTimeout: (then: () => void, ms = 0) => new FakeTimer(then, ms, "once"),
    setInterval: (then: () => void, ms = 0) => new FakeTimer(then, ms, "again and again"),
    clearTimeout: clear,
    clearInterval: clear,
    setImmediate: realImmediate,
  });
  // Statement names, which are never read.
  Math.random = () => 0.5;
}

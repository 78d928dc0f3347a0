import type { Duplex } from "node:stream";
import { fault } from "../../contract/faults.ts";
import type { Clock } from "../../kit/clock.ts";
import { Lines, type Parsed } from "./lines.ts";
import type { Asks, News } from "./protocol.ts";

type Waiting = {
  readonly sinceMs: number;
  resolve(answer: Parsed): void;
  reject(error: Error): void;
  /** There was no answer in time. */
  giveUp(): void;
};

/** Asked and not answered. Each is a request that waits, so more of them help nobody. */
const WAITING_MAX = 100_000;
/** A primary process that takes longer than this over a sum has stopped. Waiting for a lock may take longer. */
const ANSWER_MS_MAX = 5_000;
const LOOK_EVERY_MS = 1_000;

/** The primary process, as a worker sees it: questions out, answers back, and news in between. */
export class Primary {
  readonly #lines: Lines;
  readonly #clock: Clock;
  /** In the order they were asked. */
  readonly #waiting = new Map<number, Waiting>();
  readonly #listeners = new Set<(news: News) => void>();
  #next = 1;
  #lookedAtMs: number;
  /** Since a question was given up nothing was heard of it. */
  #isSilent = false;

  constructor(pipe: Duplex, clock: Clock) {
    this.#clock = clock;
    this.#lookedAtMs = clock.monotonicMs();
    this.#lines = new Lines(pipe, (message) => this.#take(message));
    setInterval(() => this.#giveUp(), LOOK_EVERY_MS).unref();
  }

  ask<Name extends keyof Asks>(
    name: Name,
    ask: Asks[Name]["ask"],
    patience: "short" | "endless" = "short",
  ): Promise<Asks[Name]["answer"]> {
    if (this.#waiting.size >= WAITING_MAX) return Promise.reject(notAnswering());
    const number = this.#next++;
    const sinceMs = patience === "short" ? this.#clock.monotonicMs() : Number.POSITIVE_INFINITY;
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { sinceMs, resolve, reject, giveUp: () => reject(notAnswering()) });
      this.#lines.say([number, name, ask]);
    });
  }

  /**
   * For what must be done in the end, whatever the primary does meanwhile. Resolves when it is done, or has to wait until
   * the primary goes on: what was said reaches it once and in order, or else this process has ended, and the primary does
   * its books from its journal.
   */
  async tell<Name extends keyof Asks>(name: Name, ask: Asks[Name]["ask"]): Promise<void> {
    const number = this.#next++;
    this.#lines.say([number, name, ask]);
    if (this.#isSilent || this.#waiting.size >= WAITING_MAX) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.set(number, { sinceMs: this.#clock.monotonicMs(), resolve, reject, giveUp: resolve });
    });
  }

  onNews(listener: (news: News) => void): void {
    this.#listeners.add(listener);
  }

  measured(number: number, text: string): void {
    this.#lines.say([0, "measured", [number, text]]);
  }

  #take([number, answer, problem]: Parsed): void {
    this.#isSilent = false;
    if (number === 0) {
      for (const listener of this.#listeners) listener(answer);
      return;
    }
    const waiting = this.#waiting.get(number);
    this.#waiting.delete(number);
    if (problem === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(problem));
  }

  #giveUp(): void {
    const nowMs = this.#clock.monotonicMs();
    const hasStoodStill = nowMs - this.#lookedAtMs > 2 * LOOK_EVERY_MS;
    this.#lookedAtMs = nowMs;
    // Then it was this process: what it has to say, and the answers that wait for it, go first.
    if (hasStoodStill) return;
    const untilMs = nowMs - ANSWER_MS_MAX;
    for (const [number, { sinceMs, giveUp }] of this.#waiting) {
      if (sinceMs > untilMs) continue;
      this.#waiting.delete(number);
      this.#isSilent = true;
      giveUp();
    }
  }
}

function notAnswering(): Error {
  return fault("service_unavailable", {
    message: "The gateway cannot count limits and money at the moment. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

import type { Clock } from "../../kit/clock.ts";
import type { Breakers, Standing } from "./standing.ts";

export type BreakerRules = {
  /** So many failures in a row set an endpoint aside; 0: nobody is ever set aside. */
  readonly failuresInARow: number;
  /** For how long the first time; each further time adds as much again. */
  readonly asideMs: number;
  readonly asideMsMax: number;
};

export const BREAKER_RULES: BreakerRules = { failuresInARow: 5, asideMs: 30_000, asideMsMax: 300_000 };

type State = {
  failures: number;
  /** How often it was set aside without having served since. */
  times: number;
  asideUntilMs: number;
  probing: "no" | "yes";
};

/** What became of an endpoint's attempts since the process began. */
type Book = { served: number; failed: number; timesAside: number; lastFailedAtMs: number | null };

const NOTHING_YET: Readonly<Book> = { served: 0, failed: 0, timesAside: 0, lastFailedAtMs: null };

/** How an endpoint stands, for who looks after the gateway. */
type EndpointState = Readonly<Book> & {
  readonly standing: Standing;
  readonly failuresInARow: number;
  /** How long it is left alone from now on; null: it is not. */
  readonly asideForMs: number | null;
};

/**
 * Sets endpoints aside that keep failing and lets one request find out whether they are back. Nobody is ever taken out
 * of a pool: who is set aside is tried last, so a pool in which everyone fails still has someone to try.
 */
export class EndpointBreakers implements Breakers {
  readonly #clock: Clock;
  readonly #rules: BreakerRules;
  /** Only endpoints that failed since they last served: bounded by the catalogue, and mostly empty. */
  readonly #troubled = new Map<string, State>();
  /** Endpoints that were ever asked; bounded by the catalogue. */
  readonly #books = new Map<string, Book>();

  constructor(clock: Clock, rules: BreakerRules = BREAKER_RULES) {
    this.#clock = clock;
    this.#rules = rules;
  }

  standingOf(endpointId: string): Standing {
    if (this.#troubled.size === 0) return "in";
    const state = this.#troubled.get(endpointId);
    if (state === undefined || state.asideUntilMs === 0) return "in";
    if (this.#clock.elapsedMs() < state.asideUntilMs) return "aside";
    return state.probing === "yes" ? "aside" : "probe";
  }

  /** An attempt begins; the first one after the time aside is the probe. */
  began(endpointId: string): void {
    const state = this.#troubled.get(endpointId);
    if (state !== undefined && this.standingOf(endpointId) === "probe") state.probing = "yes";
  }

  served(endpointId: string): void {
    this.#bookOf(endpointId).served += 1;
    this.#troubled.delete(endpointId);
  }

  /** The attempt ended without telling anything of the endpoint: the caller left, or the request itself was refused. */
  unknown(endpointId: string): void {
    const state = this.#troubled.get(endpointId);
    if (state !== undefined) state.probing = "no";
  }

  /** A provider that says when to come back is left alone until then, at the first word. */
  failed(endpointId: string, retryAfterMs: number | undefined): void {
    const book = this.#bookOf(endpointId);
    book.failed += 1;
    book.lastFailedAtMs = this.#clock.nowMs();
    if (this.#rules.failuresInARow === 0) return;
    const state = this.#troubled.get(endpointId) ?? { failures: 0, times: 0, asideUntilMs: 0, probing: "no" };
    this.#troubled.set(endpointId, state);
    const { failuresInARow, asideMs, asideMsMax } = this.#rules;
    const nowMs = this.#clock.elapsedMs();
    state.failures += 1;
    const asideBefore = state.asideUntilMs;
    if (retryAfterMs !== undefined) {
      state.asideUntilMs = Math.max(state.asideUntilMs, nowMs + Math.min(retryAfterMs, asideMsMax));
    } else if (state.probing === "yes" || (state.failures >= failuresInARow && nowMs >= state.asideUntilMs)) {
      state.times += 1;
      state.failures = 0;
      state.asideUntilMs = nowMs + Math.min(state.times * asideMs, asideMsMax);
    }
    if (state.asideUntilMs > asideBefore) book.timesAside += 1;
    state.probing = "no";
  }

  stateOf(endpointId: string): EndpointState {
    const state = this.#troubled.get(endpointId);
    const leftMs = (state?.asideUntilMs ?? 0) - this.#clock.elapsedMs();
    return {
      ...(this.#books.get(endpointId) ?? NOTHING_YET),
      standing: this.standingOf(endpointId),
      failuresInARow: state?.failures ?? 0,
      asideForMs: state === undefined || state.asideUntilMs === 0 || leftMs <= 0 ? null : leftMs,
    };
  }

  /** Who is aside now. */
  get aside(): string[] {
    return [...this.#troubled.keys()].filter((id) => this.standingOf(id) === "aside");
  }

  #bookOf(endpointId: string): Book {
    const known = this.#books.get(endpointId);
    if (known !== undefined) return known;
    const book = { ...NOTHING_YET };
    this.#books.set(endpointId, book);
    return book;
  }
}

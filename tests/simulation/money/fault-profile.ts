import type { Chance } from "../chance.ts";

/** The kind of world a seed makes: some faults are on, the rest off. */
export class FaultProfile {
  readonly instances: number;
  readonly orders: number;
  readonly overMs: number;
  readonly crashes: number;
  /** A crashed instance is down for longer than a hold lasts. */
  readonly longDown: boolean;
  /** All instances at once, and the shared state with them. */
  readonly powerCuts: number;
  readonly credits: number;
  readonly limitChanges: number;
  readonly fullDisks: number;
  readonly syncEveryMs: number;
  readonly syncFails: number;
  readonly segmentMaxBytes: number;
  readonly batchMax: number;
  /** Of messages between an instance and the shared state. */
  readonly link: { readonly lost: number; readonly lostAnswers: number; readonly twice: number; readonly slow: number };
  readonly sql: { readonly away: number; readonly lostAnswers: number };
  readonly sqlAway: readonly { readonly fromMs: number; readonly toMs: number }[];
  readonly lies: number;
  readonly creditNanos: number;
  readonly limitNanos: number;
  #isCalm = false;

  constructor(chance: Chance) {
    this.instances = chance.is(0.25) ? 1 : chance.between(2, 4);
    this.orders = chance.between(8, 30);
    this.overMs = chance.pick([300, 3000, 20_000]);
    this.crashes = chance.is(0.6) ? chance.between(1, 4) : 0;
    this.powerCuts = chance.is(0.25) ? 1 : 0;
    this.credits = chance.is(0.7) ? chance.between(1, 6) : 0;
    this.limitChanges = chance.is(0.6) ? chance.between(1, 8) : 0;
    this.fullDisks = chance.is(0.25) ? 1 : 0;
    this.syncEveryMs = chance.is(0.7) ? 5 : 0;
    this.syncFails = chance.is(0.2) ? 0.2 : 0;
    this.segmentMaxBytes = chance.pick([2000, 10_000, 1_000_000]);
    this.batchMax = chance.pick([1, 3, 100]);
    const bad = (share: number) => (chance.is(0.5) ? share * chance.next() : 0);
    this.link = { lost: bad(0.3), lostAnswers: bad(0.4), twice: bad(0.4), slow: bad(0.5) };
    this.sql = { away: bad(0.3), lostAnswers: bad(0.4) };
    const awayAtMs = chance.between(0, this.overMs);
    this.sqlAway = chance.is(0.3) ? [{ fromMs: awayAtMs, toMs: awayAtMs + chance.between(100, 18_000) }] : [];
    this.longDown = chance.is(0.5) && this.sqlAway.length === 0 && this.sql.away === 0;
    this.lies = chance.pick([0, 0.1, 0.5]);
    this.creditNanos = chance.pick([2_000_000, 20_000_000, 1_000_000_000]);
    this.limitNanos = chance.pick([1_000_000, 10_000_000]);
  }

  calmDown(): void {
    this.#isCalm = true;
  }

  get isCalm(): boolean {
    return this.#isCalm;
  }
}

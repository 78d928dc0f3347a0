import type { RateBook, RateOffer, RateRow, RateSource, RateStore } from "../../../domain/catalogue/rates.ts";
import { type Judging, judgeRates, type Offered, rateAt } from "../../../domain/catalogue/rates.ts";
import type { Log } from "../../../kit/log.ts";
import type { Decimal } from "../../../kit/money.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { type Changing, change, type GivenRates, type InTurn } from "../deps.ts";

export type RateParts = {
  readonly tenancy: Changing;
  readonly store: Pick<RateStore, "latest" | "history">;
  readonly book: RateBook;
  /** Undefined where nothing is fetched: the operator has named no address. */
  readonly source: RateSource | undefined;
  readonly everyMs: number;
  readonly staleDays: number;
  readonly timers: Timers;
  /** Whether this instance is the one that fetches. */
  readonly leads: () => boolean;
  readonly inTurn: InTurn;
  readonly warn: Log["warn"];
};

/** Nobody brings a rate of one currency more often in a day. */
const STEPS_MAX = 1_000;

/** Exchange rates while the gateway runs: given by hand, or fetched now and again. */
export class RateRoom implements GivenRates {
  readonly store: RateParts["store"];
  readonly staleDays: number;
  readonly #parts: RateParts;
  #timer: Timer | undefined;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(parts: RateParts) {
    this.#parts = parts;
    this.store = parts.store;
    this.staleDays = parts.staleDays;
  }

  /** Undefined where nothing can be fetched. */
  get source(): string | undefined {
    return this.#parts.source?.name;
  }

  /** Judges each rate on its own; those that are taken are in SQL, and in force, when this resolves. */
  take(offer: RateOffer, jumps: Judging["jumps"]): Promise<Offered> {
    return this.#parts.inTurn(async () => {
      const { tenancy, book } = this.#parts;
      const nowMs = tenancy.clock.nowMs();
      const today = new Date(nowMs).toISOString().slice(0, 10);
      const before = book.snapshot.currencies;
      const codes = Object.keys(offer.rates).filter((code) => before.has(code));
      const judged = judgeRates(offer, before, { today, jumps, dayAgo: await this.#ratesAt(codes, nowMs - DAY_MS) });
      const rows = judged.flatMap(({ is, code, perEur }): RateRow[] => {
        const row = { code, perEur, day: offer.day, source: offer.source, recordedAtMs: nowMs };
        return is === "taken" ? [{ id: tenancy.ids.next("rate_"), ...row }] : [];
      });
      if (rows.length === 0) return { ...offer, judged };
      await change(tenancy, async ({ rates }) => {
        await rates.append(rows);
        const detail = {
          day: offer.day,
          source: offer.source,
          ...(jumps === "accepted" ? { accept_jumps: true } : {}),
          rates: Object.fromEntries(rows.map(({ code, perEur }) => [code, perEur])),
        };
        return { answer: null, audit: { action: "rates.change", workspaceId: null, target: null, detail } };
      });
      book.put(rows);
      return { ...offer, judged };
    });
  }

  async #ratesAt(codes: readonly string[], atMs: number): Promise<Map<string, Decimal>> {
    const found = new Map<string, Decimal>();
    for (const code of codes) {
      const { rows } = await this.store.history(code, STEPS_MAX, null);
      const rate = rateAt(rows, atMs);
      if (rate !== undefined) found.set(code, rate);
    }
    return found;
  }

  /** Asks the source once. */
  async ask(): Promise<Offered | { readonly problem: string }> {
    const { source, book } = this.#parts;
    if (source === undefined) return { problem: "no source of exchange rates is set" };
    const offer = await source.ask();
    if ("problem" in offer) return offer;
    // A source knows many currencies; only those of the catalogue are wanted here.
    const wanted = Object.entries(offer.rates).filter(([code]) => book.snapshot.currencies.has(code));
    return this.take({ ...offer, rates: Object.fromEntries(wanted) }, "refused");
  }

  /** Fetches now, and again every so often, until it is stopped. Whatever goes wrong is told and tried again. */
  start(): void {
    if (this.#parts.source === undefined) return;
    if (this.#parts.leads()) this.#fetching = this.#fetchAndTell();
    this.#timer = this.#parts.timers.after(this.#parts.everyMs, () => this.start());
  }

  async stop(): Promise<void> {
    cancelTimer(this.#timer);
    await this.#fetching;
  }

  async #fetchAndTell(): Promise<void> {
    const { warn } = this.#parts;
    try {
      const fetched = await this.ask();
      if ("problem" in fetched) {
        warn({ problem: fetched.problem }, "exchange rates could not be fetched; those in force stay");
        return;
      }
      for (const one of fetched.judged)
        if (one.is === "refused")
          warn(
            { currency: one.code, per_eur: one.perEur, why: one.why },
            "an exchange rate that was fetched is refused",
          );
    } catch (error) {
      warn({ err: error }, "exchange rates could not be kept; those in force stay");
    }
  }
}

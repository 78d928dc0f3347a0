import type {
  RateRegistry,
  RateRow,
  RateSheet,
  RateSource,
  RateStore,
} from "../../../domain/catalogue/exchange-rates.ts";
import {
  type EvaluatedRateSheet,
  evaluateRates,
  type RateEvaluationOptions,
  rateAt,
} from "../../../domain/catalogue/exchange-rates.ts";
import type { Log } from "../../../kit/log.ts";
import type { Decimal } from "../../../kit/money.ts";
import { DAY_MS } from "../../../kit/time.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { type ChangeDeps, commitWithAudit, type ExchangeRates, type MutationLock } from "../deps.ts";

export type ExchangeRateUpdaterDeps = {
  readonly tenancy: ChangeDeps;
  readonly store: Pick<RateStore, "latest" | "history">;
  readonly rateBook: RateRegistry;
  /** Undefined where nothing is fetched: the operator has named no address. */
  readonly source: RateSource | undefined;
  readonly everyMs: number;
  readonly staleDays: number;
  readonly timers: Timers;
  /** Whether this instance is the one that fetches. */
  readonly isLeader: () => boolean;
  readonly mutationLock: MutationLock;
  readonly warn: Log["warn"];
};

/** Nobody brings a rate of one currency more often in a day. */
const HISTORY_MAX = 1_000;

/** Exchange rates while the gateway runs: given by hand, or fetched now and again. */
export class ExchangeRateUpdater implements ExchangeRates {
  readonly store: ExchangeRateUpdaterDeps["store"];
  readonly staleDays: number;
  readonly #deps: ExchangeRateUpdaterDeps;
  #timer: Timer | undefined;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(parts: ExchangeRateUpdaterDeps) {
    this.#deps = parts;
    this.store = parts.store;
    this.staleDays = parts.staleDays;
  }

  /** Undefined where nothing can be fetched. */
  get source(): string | undefined {
    return this.#deps.source?.name;
  }

  /** Judges each rate on its own; those that are taken are in SQL, and in force, when this resolves. */
  submit(offer: RateSheet, jumps: RateEvaluationOptions["jumps"]): Promise<EvaluatedRateSheet> {
    return this.#deps.mutationLock(async () => {
      const { tenancy, rateBook } = this.#deps;
      const nowMs = tenancy.clock.nowMs();
      const today = new Date(nowMs).toISOString().slice(0, 10);
      const before = rateBook.snapshot.currencies;
      const codes = Object.keys(offer.rates).filter((code) => before.has(code));
      const judged = evaluateRates(offer, before, {
        today,
        jumps,
        previousDayRates: await this.#ratesAt(codes, nowMs - DAY_MS),
      });
      const rows = judged.flatMap(({ is, code, perEur }): RateRow[] => {
        const row = { code, perEur, day: offer.day, source: offer.source, recordedAtMs: nowMs };
        return is === "taken" ? [{ id: tenancy.ids.next("rate_"), ...row }] : [];
      });
      if (rows.length === 0) return { ...offer, judged };
      await commitWithAudit(tenancy, async ({ rates }) => {
        await rates.append(rows);
        const detail = {
          day: offer.day,
          source: offer.source,
          ...(jumps === "accepted" ? { accept_jumps: true } : {}),
          rates: Object.fromEntries(rows.map(({ code, perEur }) => [code, perEur])),
        };
        return { answer: null, audit: { action: "rates.change", workspaceId: null, target: null, detail } };
      });
      rateBook.apply(rows);
      return { ...offer, judged };
    });
  }

  async #ratesAt(codes: readonly string[], atMs: number): Promise<Map<string, Decimal>> {
    const found = new Map<string, Decimal>();
    for (const code of codes) {
      const { rows } = await this.store.history(code, HISTORY_MAX, null);
      const rate = rateAt(rows, atMs);
      if (rate !== undefined) found.set(code, rate);
    }
    return found;
  }

  /** Asks the source once. */
  async fetch(): Promise<EvaluatedRateSheet | { readonly problem: string }> {
    const { source, rateBook } = this.#deps;
    if (source === undefined) return { problem: "no source of exchange rates is set" };
    const offer = await source.fetch();
    if ("problem" in offer) return offer;
    // A source knows many currencies; only those of the catalogue are wanted here.
    const wanted = Object.entries(offer.rates).filter(([code]) => rateBook.snapshot.currencies.has(code));
    return this.submit({ ...offer, rates: Object.fromEntries(wanted) }, "refused");
  }

  /** Fetches now, and again every so often, until it is stopped. Whatever goes wrong is told and tried again. */
  start(): void {
    if (this.#deps.source === undefined) return;
    if (this.#deps.isLeader()) this.#fetching = this.#fetchAndWarn();
    this.#timer = this.#deps.timers.after(this.#deps.everyMs, () => this.start());
  }

  async stop(): Promise<void> {
    cancelTimer(this.#timer);
    await this.#fetching;
  }

  async #fetchAndWarn(): Promise<void> {
    const { warn } = this.#deps;
    try {
      const fetched = await this.fetch();
      if ("problem" in fetched) {
        warn({ problem: fetched.problem }, "exchange rates could not be fetched; those in force stay");
        return;
      }
      for (const one of fetched.evaluations)
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

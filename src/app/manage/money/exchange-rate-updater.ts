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
import { OPERATOR_ACTOR } from "../caller-scope.ts";
import { type ChangeDeps, commitWithAudit, type ExchangeRates, type RateScope } from "../deps.ts";
import type { MutationLock } from "../mutation-lock.ts";

export type ExchangeRateUpdaterDeps = {
  readonly tenancy: Omit<ChangeDeps, "auditActor">;
  readonly store: Pick<RateStore, "latest" | "history">;
  readonly rateBook: RateRegistry;
  /** Undefined: no source is configured. */
  readonly source: RateSource | undefined;
  readonly everyMs: number;
  readonly staleDays: number;
  readonly timers: Timers;
  /** Only the leader fetches. */
  readonly isLeader: () => boolean;
  readonly mutationLock: MutationLock;
  readonly warn: Log["warn"];
};

/** More rates than one currency gets in a day. */
const HISTORY_MAX = 1_000;

/** Exchange rates at run time: submitted by the operator, or fetched on a schedule. */
export class ExchangeRateUpdater implements ExchangeRates {
  readonly store: ExchangeRateUpdaterDeps["store"];
  readonly staleDays: number;
  readonly #deps: ExchangeRateUpdaterDeps;
  #timer: Timer | undefined;
  #fetching: Promise<unknown> = Promise.resolve();

  constructor(deps: ExchangeRateUpdaterDeps) {
    this.#deps = deps;
    this.store = deps.store;
    this.staleDays = deps.staleDays;
  }

  get source(): string | undefined {
    return this.#deps.source?.name;
  }

  /** Evaluates each rate on its own; accepted rates are stored and in force when this resolves. */
  submit(
    offer: RateSheet,
    jumps: RateEvaluationOptions["jumps"],
    { auditActor, serialized }: RateScope,
  ): Promise<EvaluatedRateSheet> {
    return serialized(async () => {
      const { tenancy, rateBook } = this.#deps;
      const nowMs = tenancy.clock.nowMs();
      const today = new Date(nowMs).toISOString().slice(0, 10);
      const before = rateBook.snapshot.currencies;
      const codes = Object.keys(offer.rates).filter((code) => before.has(code));
      const evaluations = evaluateRates(offer, before, {
        today,
        jumps,
        previousDayRates: await this.#ratesAt(codes, nowMs - DAY_MS),
      });
      const rows = evaluations.flatMap(({ is, code, perEur }): RateRow[] => {
        const row = { code, perEur, day: offer.day, source: offer.source, recordedAtMs: nowMs };
        return is === "taken" ? [{ id: tenancy.ids.next("rate_"), ...row }] : [];
      });
      if (rows.length === 0) return { ...offer, evaluations };
      await commitWithAudit({ ...tenancy, auditActor }, async ({ rates }) => {
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
      return { ...offer, evaluations };
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

  async fetchRates(scope: RateScope): Promise<EvaluatedRateSheet | { readonly problem: string }> {
    const { source, rateBook } = this.#deps;
    if (source === undefined) return { problem: "no source of exchange rates is configured" };
    const offer = await source.fetchRates();
    if ("problem" in offer) return offer;
    // A source lists many currencies; the gateway uses those of the catalogue.
    const wanted = Object.entries(offer.rates).filter(([code]) => rateBook.snapshot.currencies.has(code));
    return this.submit({ ...offer, rates: Object.fromEntries(wanted) }, "refused", scope);
  }

  /** Fetches now and on the schedule; a failure is logged and the next run retries. */
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
    const { warn, mutationLock } = this.#deps;
    try {
      const fetched = await this.fetchRates({
        auditActor: OPERATOR_ACTOR,
        serialized: (change) => mutationLock.run(change),
      });
      if ("problem" in fetched) {
        warn({ problem: fetched.problem }, "rates: fetch failed, current rates stay in force");
        return;
      }
      for (const evaluation of fetched.evaluations)
        if (evaluation.is === "refused")
          warn(
            { currency: evaluation.code, per_eur: evaluation.perEur, why: evaluation.why },
            "rates: fetched rate rejected",
          );
    } catch (error) {
      warn({ err: error }, "rates: update failed, current rates stay in force");
    }
  }
}

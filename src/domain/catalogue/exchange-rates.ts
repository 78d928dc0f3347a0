import { type Decimal, formatDecimal, parseDecimal } from "../../kit/money.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { DAY_MS } from "../../kit/time.ts";
import type { CatalogueSnapshot, Currency } from "./catalogue.ts";
import { FrozenMap } from "./frozen-map.ts";

/** One exchange rate as it was learned: kept for ever, never changed. */
export type RateRow = {
  readonly id: string;
  readonly code: string;
  /** Units of the currency for one euro, as an exact decimal. */
  readonly perEur: string;
  /** ISO date the rate is of. */
  readonly day: string;
  readonly source: string;
  readonly recordedAtMs: number;
};

export type RateStore = {
  /** The row in force of every currency: of the newest day, and of that the one that was recorded last. */
  latest(): Promise<RateRow[]>;
  /** Newest first; of one currency, or of all. */
  history(code: string | null, limit: number, cursor: string | null): Promise<{ rows: RateRow[]; next: string | null }>;
  append(rows: readonly RateRow[]): Promise<void>;
};

/** Rates that somebody or something brings. */
export type RateSheet = {
  /** ISO date they are of. */
  readonly day: string;
  readonly source: string;
  /** Units for one euro, as decimals, by currency. */
  readonly rates: Readonly<Record<string, string>>;
};

/** Where rates can be had from. */
export type RateSource = {
  readonly name: string;
  fetch(): Promise<RateSheet | { readonly problem: string }>;
};

/** A rate that moved by more than this, at once or within a day, is a mistake until somebody says it is not. */
const RATE_JUMP_FACTOR = { numerator: 5n, denominator: 4n } as const;

const BASE_CURRENCY = "EUR";
const PER_EUR_MAX = 10n ** 9n;
const DECIMALS_MAX = 12;

export type RateEvaluation =
  | { readonly is: "taken"; readonly code: string; readonly perEur: string }
  /** The same rate of the same day is already in force. */
  | { readonly is: "known"; readonly code: string; readonly perEur: string }
  | { readonly is: "refused"; readonly code: string; readonly perEur: string; readonly why: string };

/** What came of rates that were offered. */
export type EvaluatedRateSheet = RateSheet & { readonly evaluations: readonly RateEvaluation[] };

/** `jumps`: whether a rate may have moved further than is believed. */
export type RateEvaluationOptions = {
  readonly today: string;
  readonly jumps: "refused" | "accepted";
  /** What held a day ago, by currency: many small steps on one day are a jump as well. */
  readonly previousDayRates?: ReadonlyMap<string, Decimal>;
};

/**
 * The rate that held at a moment, of rows that are newest first; of younger ones the oldest. What jumped was vouched for
 * by somebody, so nothing before that counts.
 */
export function rateAt(rows: readonly RateRow[], atMs: number): Decimal | undefined {
  let held: Decimal | undefined;
  for (const { perEur, recordedAtMs } of rows) {
    const rate = parseDecimal(perEur);
    if (rate === undefined || (held !== undefined && isJump(held, rate))) break;
    held = rate;
    if (recordedAtMs <= atMs) break;
  }
  return held;
}

/** What becomes of each rate of an offer, against those in force. Pure. */
export function evaluateRates(
  offer: RateSheet,
  inForce: CatalogueSnapshot["currencies"],
  judging: RateEvaluationOptions,
): RateEvaluation[] {
  return Object.entries(offer.rates).map(([code, perEur]): RateEvaluation => {
    const why = rejectionReason(code, perEur, offer.day, inForce.get(code), judging);
    if (why === ALREADY_KNOWN) return { is: "known", code, perEur };
    return why === undefined ? { is: "taken", code, perEur } : { is: "refused", code, perEur, why };
  });
}

const ALREADY_KNOWN = "known";

function rejectionReason(
  code: string,
  perEur: string,
  day: string,
  last: Currency | undefined,
  { today, jumps, previousDayRates }: RateEvaluationOptions,
): string | undefined {
  if (code === BASE_CURRENCY) return "the euro is what rates are counted in: it is always 1";
  if (last === undefined) return "the catalogue has no such currency: add it to currencies.json first";
  const rate = parseDecimal(perEur);
  if (
    rate === undefined ||
    rate.digits <= 0n ||
    rate.scale > DECIMALS_MAX ||
    rate.digits > PER_EUR_MAX * powerOfTen(rate.scale)
  )
    return `write units for one euro: a decimal above zero, at most ${PER_EUR_MAX}, with at most ${DECIMALS_MAX} places`;
  if (day > today) return `${day} lies in the future`;
  if (day < last.rateDate) return `it is of ${day}, and the rate in force is of ${last.rateDate}`;
  if (day === last.rateDate && isSameRate(rate, last.perEur)) return ALREADY_KNOWN;
  const jumped = [last.perEur, previousDayRates?.get(code) ?? last.perEur].find((was) => isJump(rate, was));
  if (jumps === "refused" && jumped !== undefined)
    return `it moved from ${formatDecimal(jumped)} to ${formatDecimal(rate)}, by more than a factor of ${Number(RATE_JUMP_FACTOR.numerator) / Number(RATE_JUMP_FACTOR.denominator)}; if that is true, send it with accept_jumps`;
  return undefined;
}

function powerOfTen(power: number): bigint {
  return 10n ** BigInt(power);
}

/** Both over one denominator. */
function toCommonScale(a: Decimal, b: Decimal): readonly [bigint, bigint] {
  return [a.digits * powerOfTen(b.scale), b.digits * powerOfTen(a.scale)];
}

function isSameRate(a: Decimal, b: Decimal): boolean {
  const [left, right] = toCommonScale(a, b);
  return left === right;
}

function isJump(now: Decimal, before: Decimal): boolean {
  const { numerator, denominator } = RATE_JUMP_FACTOR;
  const [is, was] = toCommonScale(now, before);
  return is * denominator > was * numerator || was * denominator > is * numerator;
}

/**
 * The catalogue with the exchange rates in force. A new rate makes a new snapshot, which takes the place of the old one
 * in one step: whoever planned with the old one settles with it, whoever plans next sees the new one.
 */
export class RateRegistry {
  readonly #base: CatalogueSnapshot;
  readonly #rows = new Map<string, RateRow>();
  #snapshot: CatalogueSnapshot;

  constructor(base: CatalogueSnapshot) {
    this.#base = base;
    this.#snapshot = base;
  }

  get snapshot(): CatalogueSnapshot {
    return this.#snapshot;
  }

  /** Rows of currencies that the catalogue does not have, or that are older than its own, wait without effect. */
  apply(rows: readonly RateRow[]): void {
    for (const row of rows) this.#rows.set(row.code, row);
    const changed: Currency[] = [];
    const currencies = [...this.#base.currencies].map(([code, currency]): [string, Currency] => {
      const row = this.#rows.get(code);
      const perEur = row === undefined ? undefined : parseDecimal(row.perEur);
      if (row === undefined || perEur === undefined || perEur.digits <= 0n || code === BASE_CURRENCY)
        return [code, currency];
      if (row.day < currency.rateDate) return [code, currency];
      if (row.day === currency.rateDate && isSameRate(perEur, currency.perEur)) return [code, currency];
      const now = Object.freeze({ ...currency, perEur, rateDate: row.day, rateSource: row.source });
      changed.push(now);
      return [code, now];
    });
    if (changed.length === 0) {
      this.#snapshot = this.#base;
      return;
    }
    const rates = changed.map(({ code, perEur, rateDate }) => `${code} ${formatDecimal(perEur)} ${rateDate}`).join();
    this.#snapshot = Object.freeze({
      ...this.#base,
      version: sha256Hex(`${this.#base.version} ${rates}`).slice(0, 16),
      currencies: new FrozenMap(currencies),
    });
  }
}

/** Rates of the catalogue's files that the store does not have yet, or has only older ones of. */
export function newerCatalogueRates(base: CatalogueSnapshot, latest: readonly RateRow[]): readonly Currency[] {
  const known = new Map(latest.map((row) => [row.code, row]));
  return [...base.currencies.values()].filter(({ code, rateDate }) => {
    const row = known.get(code);
    return code !== BASE_CURRENCY && (row === undefined || row.day < rateDate);
  });
}

/** Currencies whose rate is older than so many days, the euro apart. */
export function staleRates({ currencies }: CatalogueSnapshot, nowMs: number, daysMax: number): Currency[] {
  return [...currencies.values()].filter(
    ({ code, rateDate }) =>
      code !== BASE_CURRENCY && nowMs - Date.parse(`${rateDate}T00:00:00Z`) > (daysMax + 1) * DAY_MS,
  );
}

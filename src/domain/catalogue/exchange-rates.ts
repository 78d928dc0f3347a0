import { type Decimal, formatDecimal, parseDecimal, powerOfTen } from "../../kit/money.ts";
import { sha256Hex } from "../../kit/secret.ts";
import { DAY_MS } from "../../kit/time.ts";
import type { CatalogueSnapshot, Currency } from "./catalogue.ts";
import { FrozenMap } from "./frozen-map.ts";

/** A recorded exchange rate; append-only. */
export type RateRow = {
  readonly id: string;
  readonly code: string;
  /** Units of the currency per euro, as an exact decimal. */
  readonly perEur: string;
  /** ISO date of the rate. */
  readonly day: string;
  readonly source: string;
  readonly recordedAtMs: number;
};

export type RateStore = {
  /** The current row of each currency: the newest day, and of that the latest recording. */
  latest(): Promise<RateRow[]>;
  /** Newest first, for one currency or all. */
  history(code: string | null, limit: number, cursor: string | null): Promise<{ rows: RateRow[]; next: string | null }>;
  append(rows: readonly RateRow[]): Promise<void>;
};

/** Rates of one day from one source, before evaluation. */
export type RateSheet = {
  /** ISO date of the rates. */
  readonly day: string;
  readonly source: string;
  /** Units per euro as decimals, by currency. */
  readonly rates: Readonly<Record<string, string>>;
};

export type RateSource = {
  readonly name: string;
  fetchRates(): Promise<RateSheet | { readonly problem: string }>;
};

/** A rate that moves by more than this factor, at once or within a day, is rejected unless the operator accepts it. */
const RATE_JUMP_FACTOR = { numerator: 5n, denominator: 4n } as const;

const BASE_CURRENCY = "EUR";
const PER_EUR_MAX = 10n ** 9n;
const DECIMALS_MAX = 12;

export type RateEvaluation =
  | { readonly is: "taken"; readonly code: string; readonly perEur: string }
  /** The same rate for the same day is already in force. */
  | { readonly is: "known"; readonly code: string; readonly perEur: string }
  | { readonly is: "refused"; readonly code: string; readonly perEur: string; readonly why: string };

export type EvaluatedRateSheet = RateSheet & { readonly evaluations: readonly RateEvaluation[] };

/** `jumps`: whether a rate may move by more than the jump factor. */
export type RateEvaluationOptions = {
  readonly today: string;
  readonly jumps: "refused" | "accepted";
  /** Rates of a day ago by currency: several small steps within one day add up to a jump. */
  readonly previousDayRates?: ReadonlyMap<string, Decimal>;
};

/**
 * The rate in force at `atMs`, from rows that are newest first; the oldest row if all are later. An accepted jump ends
 * the search, because older rates are no longer comparable.
 */
export function rateAt(rows: readonly RateRow[], atMs: number): Decimal | undefined {
  let rateInForce: Decimal | undefined;
  for (const { perEur, recordedAtMs } of rows) {
    const rate = parseDecimal(perEur);
    if (rate === undefined || (rateInForce !== undefined && isJump(rateInForce, rate))) break;
    rateInForce = rate;
    if (recordedAtMs <= atMs) break;
  }
  return rateInForce;
}

/** Evaluates each rate of a sheet against those in force. Pure. */
export function evaluateRates(
  sheet: RateSheet,
  inForce: CatalogueSnapshot["currencies"],
  options: RateEvaluationOptions,
): RateEvaluation[] {
  return Object.entries(sheet.rates).map(([code, perEur]): RateEvaluation => {
    const why = rejectionReason(code, perEur, sheet.day, inForce.get(code), options);
    if (why === ALREADY_KNOWN) return { is: "known", code, perEur };
    return why === undefined ? { is: "taken", code, perEur } : { is: "refused", code, perEur, why };
  });
}

const ALREADY_KNOWN = "known";

function rejectionReason(
  code: string,
  perEur: string,
  day: string,
  current: Currency | undefined,
  { today, jumps, previousDayRates }: RateEvaluationOptions,
): string | undefined {
  if (code === BASE_CURRENCY) return "must not be set: the euro is the base currency and always 1";
  if (current === undefined) return "is not a currency of the catalogue: add it to currencies.json first";
  const rate = parseDecimal(perEur);
  if (
    rate === undefined ||
    rate.digits <= 0n ||
    rate.scale > DECIMALS_MAX ||
    rate.digits > PER_EUR_MAX * powerOfTen(rate.scale)
  )
    return `must be units for one euro: a decimal above zero, at most ${PER_EUR_MAX}, with at most ${DECIMALS_MAX} decimal places`;
  if (day > today) return `${day} is in the future`;
  if (day < current.rateDate) return `${day} is older than the current rate of ${current.rateDate}`;
  if (day === current.rateDate && isSameRate(rate, current.perEur)) return ALREADY_KNOWN;
  const jumpOrigin = [current.perEur, previousDayRates?.get(code) ?? current.perEur].find((was) => isJump(rate, was));
  if (jumps === "refused" && jumpOrigin !== undefined)
    return `changed from ${formatDecimal(jumpOrigin)} to ${formatDecimal(rate)}, by more than a factor of ${Number(RATE_JUMP_FACTOR.numerator) / Number(RATE_JUMP_FACTOR.denominator)}; if this is correct, send accept_jumps`;
  return undefined;
}

function toCommonScale(a: Decimal, b: Decimal): readonly [bigint, bigint] {
  return [a.digits * powerOfTen(b.scale), b.digits * powerOfTen(a.scale)];
}

function isSameRate(a: Decimal, b: Decimal): boolean {
  const [left, right] = toCommonScale(a, b);
  return left === right;
}

function isJump(updated: Decimal, before: Decimal): boolean {
  const { numerator, denominator } = RATE_JUMP_FACTOR;
  const [is, was] = toCommonScale(updated, before);
  return is * denominator > was * numerator || was * denominator > is * numerator;
}

/**
 * The catalogue with current exchange rates. A new rate replaces the snapshot atomically: a request settles with the
 * snapshot it was planned with.
 */
export class RateRegistry {
  readonly #base: CatalogueSnapshot;
  readonly #rows = new Map<string, RateRow>();
  /** Replaced by `apply` alone. */
  snapshot: CatalogueSnapshot;

  constructor(base: CatalogueSnapshot) {
    this.#base = base;
    this.snapshot = base;
  }

  /** Rows of unknown currencies, or older than the catalogue's own rate, have no effect. */
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
      const updated = Object.freeze({ ...currency, perEur, rateDate: row.day, rateSource: row.source });
      changed.push(updated);
      return [code, updated];
    });
    if (changed.length === 0) {
      this.snapshot = this.#base;
      return;
    }
    const rates = changed.map(({ code, perEur, rateDate }) => `${code} ${formatDecimal(perEur)} ${rateDate}`).join();
    this.snapshot = Object.freeze({
      ...this.#base,
      version: sha256Hex(`${this.#base.version} ${rates}`).slice(0, 16),
      currencies: new FrozenMap(currencies),
    });
  }
}

/** Catalogue rates that are missing in the store, or newer than the stored ones. */
export function newerCatalogueRates(base: CatalogueSnapshot, latest: readonly RateRow[]): readonly Currency[] {
  const known = new Map(latest.map((row) => [row.code, row]));
  return [...base.currencies.values()].filter(({ code, rateDate }) => {
    const row = known.get(code);
    return code !== BASE_CURRENCY && (row === undefined || row.day < rateDate);
  });
}

/** Currencies whose rate is older than `daysMax`, except the euro. */
export function staleRates({ currencies }: CatalogueSnapshot, nowMs: number, daysMax: number): Currency[] {
  return [...currencies.values()].filter(
    ({ code, rateDate }) =>
      code !== BASE_CURRENCY && nowMs - Date.parse(`${rateDate}T00:00:00Z`) > (daysMax + 1) * DAY_MS,
  );
}

import { PRICE_FIELDS } from "./field-schemas.ts";
import { type CatalogueProblem, childLocation, problemAt, type SourceLocation } from "./problems.ts";
import type { CatalogueRecords } from "./records.ts";
import type { EndpointEntry, PriceEntry } from "./schema.ts";

/** In euro per unit; above any market price, so it catches a unit error of a factor of a million. */
const PRICE_EUR_MAX = 10_000;
/** A price that changes by this factor has a misplaced decimal point. */
const PRICE_JUMP_FACTOR = 1000;
const EXTRA_MULTIPLIER_MAX = 100;

export function priceProblems(parsed: CatalogueRecords, today: string): CatalogueProblem[] {
  const perEur = new Map(parsed.currencies.map(({ value }) => [value.code, Number(value.per_eur)]));
  return parsed.endpoints.flatMap(({ at, value }) => [
    ...dateProblems(value, at),
    ...jumpProblems(value, at),
    ...zeroPriceProblems(value, at),
    ...(value.prices ?? []).flatMap((row, index) =>
      rowProblems(row, childLocation(at, "prices", index), perEur, today),
    ),
    ...(value.price_alternatives ?? []).flatMap(({ currency }, index) =>
      perEur.has(currency)
        ? []
        : [unknownCurrencyProblem(childLocation(at, "price_alternatives", index, "currency"), currency)],
    ),
  ]);
}

function unknownCurrencyProblem(at: SourceLocation, currency: string): CatalogueProblem {
  return problemAt(at, `there is no currency "${currency}" in currencies.json`);
}

/** Rows are oldest first, one per day; only the first may have no date. */
function dateProblems({ prices = [] }: EndpointEntry, at: SourceLocation): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const before = prices[index - 1];
    if (before === undefined) return [];
    const place = childLocation(at, "prices", index, "from");
    if (row.from === undefined) return [problemAt(place, "is missing: only the first price row may be without a date")];
    if (before.from !== undefined && row.from <= before.from)
      return [problemAt(place, `${row.from} is not after ${before.from}: sort price rows by date, oldest first`)];
    return [];
  });
}

function jumpProblems({ prices = [] }: EndpointEntry, at: SourceLocation): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const before = prices[index - 1];
    if (before === undefined || before.currency !== row.currency) return [];
    return PRICE_FIELDS.flatMap((name) => {
      const [was, is] = [Number(before[name] ?? 0), Number(row[name] ?? 0)];
      if (was === 0 || is === 0 || Math.max(was / is, is / was) < PRICE_JUMP_FACTOR) return [];
      const message = `${is} is implausible after ${was}: a price must not change by more than a factor of ${PRICE_JUMP_FACTOR} at once`;
      return [problemAt(childLocation(at, "prices", index, name), message)];
    });
  });
}

/** A free price must be declared, because a zero alone could be a mistake. */
function zeroPriceProblems({ prices = [], surfaces }: EndpointEntry, at: SourceLocation): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const place = childLocation(at, "prices", index);
    const stated = PRICE_FIELDS.filter((name) => row[name] !== undefined);
    const zeros = stated.filter((name) => Number(row[name]) === 0);
    if (row.free === true) {
      const paid = stated.find((name) => !zeros.includes(name));
      return paid === undefined
        ? []
        : [problemAt(childLocation(place, paid), `${row[paid]} is not 0, but the row is marked as free`)];
    }
    const chats = surfaces.includes("chat");
    const undeclaredZero = zeros.find(
      (name) =>
        zeros.length === stated.length ||
        (chats && (name === "input_per_1m_tokens" || name === "output_per_1m_tokens")),
    );
    if (undeclaredZero === undefined) return [];
    const message = "is 0: omit it if it is unknown; if the provider charges nothing, set free: true";
    return [problemAt(childLocation(place, undeclaredZero), message)];
  });
}

function rowProblems(
  row: PriceEntry,
  at: SourceLocation,
  perEur: ReadonlyMap<string, number>,
  today: string,
): CatalogueProblem[] {
  const problems: CatalogueProblem[] = [];
  const rate = perEur.get(row.currency);
  if (rate === undefined) problems.push(unknownCurrencyProblem(childLocation(at, "currency"), row.currency));
  if (PRICE_FIELDS.every((name) => row[name] === undefined) && row.image_prices === undefined)
    problems.push(problemAt(at, "has no price: omit the row if the price is unknown"));
  if (row.evidence !== undefined && row.evidence.read > today)
    problems.push(problemAt(childLocation(at, "evidence", "read"), `${row.evidence.read} is in the future`));
  const amounts = [
    ...PRICE_FIELDS.map((name) => ({ at: childLocation(at, name), figure: row[name] })),
    ...(row.image_prices ?? []).map(({ per_image: figure }, index) => ({
      at: childLocation(at, "image_prices", index, "per_image"),
      figure,
    })),
    ...(row.tiers ?? []).flatMap(({ above_input_tokens: _, ...tier }, index) =>
      Object.entries(tier).map(([name, figure]) => ({ at: childLocation(at, "tiers", index, name), figure })),
    ),
  ];
  for (const [name, extra] of Object.entries(row.extras ?? {})) {
    const place = childLocation(at, "extras", name);
    if ("per_use" in extra) amounts.push({ at: childLocation(place, "per_use"), figure: extra.per_use });
    else if (Number(extra.times) > EXTRA_MULTIPLIER_MAX || Number(extra.times) === 0)
      problems.push(
        problemAt(
          childLocation(place, "times"),
          `${extra.times} is implausible: the maximum is ${EXTRA_MULTIPLIER_MAX}`,
        ),
      );
  }
  for (const { at: place, figure } of amounts) {
    if (figure !== undefined && Number(figure) / (rate ?? 1) > PRICE_EUR_MAX)
      problems.push(problemAt(place, `${figure} ${row.currency} is implausible: the maximum is ${PRICE_EUR_MAX} euro`));
  }
  return [...problems, ...tierProblems(row, at)];
}

function tierProblems({ tiers = [] }: PriceEntry, at: SourceLocation): CatalogueProblem[] {
  return tiers.flatMap((tier, index) => {
    const before = tiers[index - 1];
    if (before === undefined || tier.above_input_tokens > before.above_input_tokens) return [];
    const place = childLocation(at, "tiers", index, "above_input_tokens");
    return [
      problemAt(
        place,
        `${tier.above_input_tokens} is not above ${before.above_input_tokens}: sort tiers by threshold, smallest first`,
      ),
    ];
  });
}

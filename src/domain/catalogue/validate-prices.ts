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
    ...evidenceProblems(value, at, today),
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

function evidenceProblems(value: EndpointEntry, at: SourceLocation, today: string): CatalogueProblem[] {
  const read = value.evidence?.read;
  if (read === undefined || read <= today) return [];
  return [problemAt(childLocation(at, "evidence", "read"), `${read} lies in the future`)];
}

/** Rows are oldest first, one per day; only the first may have no date. */
function dateProblems({ prices = [] }: EndpointEntry, at: SourceLocation): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const before = prices[index - 1];
    if (before === undefined) return [];
    const place = childLocation(at, "prices", index, "from");
    if (row.from === undefined) return [problemAt(place, "is missing: only the first price row may be without a date")];
    if (before.from !== undefined && row.from <= before.from)
      return [problemAt(place, `${row.from} does not follow ${before.from}: write price rows oldest first`)];
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
      const message = `${is} is absurd after ${was}: no price moves by a factor of ${PRICE_JUMP_FACTOR} in one step`;
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
        : [problemAt(childLocation(place, paid), `${row[paid]} is not 0, and the row says free`)];
    }
    const chats = surfaces.includes("chat");
    const undeclaredZero = zeros.find(
      (name) =>
        zeros.length === stated.length ||
        (chats && (name === "input_per_1m_tokens" || name === "output_per_1m_tokens")),
    );
    if (undeclaredZero === undefined) return [];
    const message =
      "is 0: leave it out when it is not known; where the provider takes nothing at all, write free: true";
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
  if (PRICE_FIELDS.every((name) => row[name] === undefined))
    problems.push(problemAt(at, "has no figure: leave the row out when the price is not known"));
  if (row.source_date !== undefined && row.source_date > today)
    problems.push(problemAt(childLocation(at, "source_date"), `${row.source_date} lies in the future`));
  if (row.per_image !== undefined)
    problems.push(
      problemAt(childLocation(at, "per_image"), "nothing is charged by it: no surface makes images; leave it out"),
    );
  const amounts = [
    ...PRICE_FIELDS.map((name) => ({ at: childLocation(at, name), figure: row[name] })),
    ...(row.tiers ?? []).flatMap(({ above_input_tokens: _, ...tier }, index) =>
      Object.entries(tier).map(([name, figure]) => ({ at: childLocation(at, "tiers", index, name), figure })),
    ),
  ];
  for (const [name, extra] of Object.entries(row.extras ?? {})) {
    const place = childLocation(at, "extras", name);
    if ("per_use" in extra) amounts.push({ at: childLocation(place, "per_use"), figure: extra.per_use });
    else if (Number(extra.times) > EXTRA_MULTIPLIER_MAX || Number(extra.times) === 0)
      problems.push(
        problemAt(childLocation(place, "times"), `${extra.times} is absurd: write up to ${EXTRA_MULTIPLIER_MAX}`),
      );
  }
  for (const { at: place, figure } of amounts) {
    if (figure !== undefined && Number(figure) / (rate ?? 1) > PRICE_EUR_MAX)
      problems.push(problemAt(place, `${figure} ${row.currency} is absurd: no price is above ${PRICE_EUR_MAX} euro`));
  }
  return [...problems, ...tierProblems(row, at)];
}

function tierProblems({ tiers = [] }: PriceEntry, at: SourceLocation): CatalogueProblem[] {
  return tiers.flatMap((tier, index) => {
    const before = tiers[index - 1];
    if (before === undefined || tier.above_input_tokens > before.above_input_tokens) return [];
    const place = childLocation(at, "tiers", index, "above_input_tokens");
    return [
      problemAt(place, `${tier.above_input_tokens} does not follow ${before.above_input_tokens}: smallest first`),
    ];
  });
}

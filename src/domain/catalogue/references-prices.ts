import { PRICE_FIGURES } from "./fields.ts";
import type { Parsed } from "./parsed.ts";
import { type CatalogueProblem, inside, type Place, problemAt } from "./problems.ts";
import type { EndpointEntry, PriceEntry } from "./schema.ts";

/** In euro per unit. Nothing on the market comes near it: a slip of a factor of a million does. */
const PRICE_EUR_MAX = 10_000;
/** A new row whose figure is so many times the old one, or so many times smaller, has its point in the wrong place. */
const PRICE_STEP_MAX = 1000;
/** What token prices may be multiplied by. */
const EXTRA_TIMES_MAX = 100;

export function priceProblems(parsed: Parsed, today: string): CatalogueProblem[] {
  const perEur = new Map(parsed.currencies.map(({ value }) => [value.code, Number(value.per_eur)]));
  return parsed.endpoints.flatMap(({ at, value }) => [
    ...datesOf(value, at),
    ...stepsOf(value, at),
    ...freeOf(value, at),
    ...evidenceProblems(value, at, today),
    ...(value.prices ?? []).flatMap((row, index) => rowProblems(row, inside(at, "prices", index), perEur, today)),
    ...(value.price_alternatives ?? []).flatMap(({ currency }, index) =>
      perEur.has(currency) ? [] : [unknown(inside(at, "price_alternatives", index, "currency"), currency)],
    ),
  ]);
}

function unknown(at: Place, currency: string): CatalogueProblem {
  return problemAt(at, `there is no currency "${currency}" in currencies.json`);
}

function evidenceProblems(value: EndpointEntry, at: Place, today: string): CatalogueProblem[] {
  const read = value.evidence?.read;
  if (read === undefined || read <= today) return [];
  return [problemAt(inside(at, "evidence", "read"), `${read} lies in the future`)];
}

/** Rows stand oldest first, one per day; only the first may be without a date. */
function datesOf({ prices = [] }: EndpointEntry, at: Place): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const before = prices[index - 1];
    if (before === undefined) return [];
    const place = inside(at, "prices", index, "from");
    if (row.from === undefined) return [problemAt(place, "is missing: only the first price row may be without a date")];
    if (before.from !== undefined && row.from <= before.from)
      return [problemAt(place, `${row.from} does not follow ${before.from}: write price rows oldest first`)];
    return [];
  });
}

function stepsOf({ prices = [] }: EndpointEntry, at: Place): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const before = prices[index - 1];
    if (before === undefined || before.currency !== row.currency) return [];
    return PRICE_FIGURES.flatMap((name) => {
      const [was, is] = [Number(before[name] ?? 0), Number(row[name] ?? 0)];
      if (was === 0 || is === 0 || Math.max(was / is, is / was) < PRICE_STEP_MAX) return [];
      const message = `${is} is absurd after ${was}: no price moves by a factor of ${PRICE_STEP_MAX} in one step`;
      return [problemAt(inside(at, "prices", index, name), message)];
    });
  });
}

/** Giving a model away is said, never slipped into: by a figure of zero alone nobody can tell it from a mistake. */
function freeOf({ prices = [], surfaces }: EndpointEntry, at: Place): CatalogueProblem[] {
  return prices.flatMap((row, index) => {
    const place = inside(at, "prices", index);
    const stated = PRICE_FIGURES.filter((name) => row[name] !== undefined);
    const zeros = stated.filter((name) => Number(row[name]) === 0);
    if (row.free === true) {
      const paid = stated.find((name) => !zeros.includes(name));
      return paid === undefined ? [] : [problemAt(inside(place, paid), `${row[paid]} is not 0, and the row says free`)];
    }
    const chats = surfaces.includes("chat");
    const given = zeros.find(
      (name) =>
        zeros.length === stated.length ||
        (chats && (name === "input_per_1m_tokens" || name === "output_per_1m_tokens")),
    );
    if (given === undefined) return [];
    const message =
      "is 0: leave it out when it is not known; where the provider takes nothing at all, write free: true";
    return [problemAt(inside(place, given), message)];
  });
}

function rowProblems(
  row: PriceEntry,
  at: Place,
  perEur: ReadonlyMap<string, number>,
  today: string,
): CatalogueProblem[] {
  const problems: CatalogueProblem[] = [];
  const rate = perEur.get(row.currency);
  if (rate === undefined) problems.push(unknown(inside(at, "currency"), row.currency));
  if (PRICE_FIGURES.every((name) => row[name] === undefined))
    problems.push(problemAt(at, "has no figure: leave the row out when the price is not known"));
  if (row.source_date !== undefined && row.source_date > today)
    problems.push(problemAt(inside(at, "source_date"), `${row.source_date} lies in the future`));
  if (row.per_image !== undefined)
    problems.push(
      problemAt(inside(at, "per_image"), "nothing is charged by it: no surface makes images; leave it out"),
    );
  const figures = [
    ...PRICE_FIGURES.map((name) => ({ at: inside(at, name), figure: row[name] })),
    ...(row.tiers ?? []).flatMap(({ above_input_tokens: _, ...tier }, index) =>
      Object.entries(tier).map(([name, figure]) => ({ at: inside(at, "tiers", index, name), figure })),
    ),
  ];
  for (const [name, extra] of Object.entries(row.extras ?? {})) {
    const place = inside(at, "extras", name);
    if ("per_use" in extra) figures.push({ at: inside(place, "per_use"), figure: extra.per_use });
    else if (Number(extra.times) > EXTRA_TIMES_MAX || Number(extra.times) === 0)
      problems.push(problemAt(inside(place, "times"), `${extra.times} is absurd: write up to ${EXTRA_TIMES_MAX}`));
  }
  for (const { at: place, figure } of figures) {
    if (figure !== undefined && Number(figure) / (rate ?? 1) > PRICE_EUR_MAX)
      problems.push(problemAt(place, `${figure} ${row.currency} is absurd: no price is above ${PRICE_EUR_MAX} euro`));
  }
  return [...problems, ...tierProblems(row, at)];
}

function tierProblems({ tiers = [] }: PriceEntry, at: Place): CatalogueProblem[] {
  return tiers.flatMap((tier, index) => {
    const before = tiers[index - 1];
    if (before === undefined || tier.above_input_tokens > before.above_input_tokens) return [];
    const place = inside(at, "tiers", index, "above_input_tokens");
    return [
      problemAt(place, `${tier.above_input_tokens} does not follow ${before.above_input_tokens}: smallest first`),
    ];
  });
}

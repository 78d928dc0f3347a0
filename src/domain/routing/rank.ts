import type { Sort } from "../../language/canon/wishes.ts";
import { placeIn } from "./preferences.ts";
import { type Figures, fill, MEDIAN, type Scores } from "./score.ts";
import type { PlanRequest, Sifted, World } from "./sieve.ts";
import type { Standing } from "./standing.ts";

/** Why the first one is first. */
export type Basis = "cost" | "score" | "session" | "order" | "fallback" | Sort;

/** Places of rows, best first. */
export type Ranking = {
  /** Those that may be tried, in order: the best of the pool, then fallbacks, then what is set aside. */
  readonly shortlist: readonly number[];
  readonly basis: Basis;
  /** Undefined: everybody is in. */
  readonly standings: readonly Standing[] | undefined;
  /** Sorts any places in the same way; only the record of a decision needs them all in order. */
  readonly sorted: (places: readonly number[]) => number[];
};

/** More than any request tries, so that some may be passed over. */
const SHORTLIST_MAX = 32;
/** How many of the attempts are kept for the router's fallbacks when its pool could use them all. */
const FALLBACK_ATTEMPTS = 2;

export function rank(
  sifted: Sifted,
  figures: Figures,
  scores: Scores | undefined,
  request: PlanRequest,
  world: World,
): Ranking {
  const { rows, pooled } = sifted;
  const standings = standingsOf(sifted, world);
  const tiers = tiersOf(sifted, request, standings);
  const [primary, secondary] = measuresOf(sifted, figures, scores, request);
  const compare = (a: number, b: number): number => {
    if (tiers !== undefined && tiers[a] !== tiers[b]) return (tiers[a] ?? 0) - (tiers[b] ?? 0);
    const first = (primary[a] ?? 0) - (primary[b] ?? 0);
    if (first !== 0) return first;
    const second = (secondary[a] ?? 0) - (secondary[b] ?? 0);
    if (second !== 0) return second;
    return (rows[a]?.endpoint.id ?? "") < (rows[b]?.endpoint.id ?? "") ? -1 : 1;
  };
  const best = bestOf(0, pooled, compare);
  const fallbacks = rows.length === pooled ? [] : bestOf(pooled, rows.length, compare);
  const isAside = (place: number) => standings?.[place] === "aside";
  // A conversation that a fallback has served stays there too.
  const stays = fallbacks.findIndex((place) => tiers?.[place] === SESSION_FIRST);
  const [ahead, behind] = stays < 0 ? [best, fallbacks] : [[...fallbacks.splice(stays, 1), ...best], fallbacks];
  const shortlist = joined(ahead, behind, isAside, world.attemptsMax);
  return {
    shortlist,
    basis: basisOf(shortlist[0], tiers, request, pooled),
    standings,
    sorted: (places) => [...places].sort(compare),
  };
}

function standingsOf({ rows }: Sifted, { breakers }: World): readonly Standing[] | undefined {
  let standings: Standing[] | undefined;
  for (let at = 0; at < rows.length; at += 1) {
    const standing = breakers.standingOf(rows[at]?.endpoint.id ?? "");
    if (standing === "in") continue;
    standings ??= rows.map((): Standing => "in");
    standings[at] = standing;
  }
  return standings;
}

const SESSION_FIRST = -1;
/** Above every place in an order. */
const FALLBACK_TIER = 1_000;
const ASIDE_TIER = 1_000_000;

/** Who goes before whom whatever the figures say; undefined when only figures count. */
function tiersOf(
  { rows, pooled }: Sifted,
  { wishes, session, route }: PlanRequest,
  standings: readonly Standing[] | undefined,
): readonly number[] | undefined {
  const order = wishes?.provider?.order;
  // With no turn left to come the cache is worth its price once, and the price is in the cost already.
  const kept = order === undefined && wishes?.remainingTurns !== 0 ? session?.endpoint : undefined;
  if (order === undefined && kept === undefined && standings === undefined && pooled === rows.length) return undefined;
  const fallback = route.is === "router" ? (route.router?.spec.fallback ?? []) : [];
  return rows.map(({ endpoint }, place) => {
    let tier = place < pooled ? 0 : FALLBACK_TIER + fallback.indexOf(endpoint.model);
    if (place < pooled && order !== undefined) {
      const named = placeIn(order, endpoint);
      tier += named < 0 ? order.length : named;
    }
    if (endpoint.id === kept) tier = SESSION_FIRST;
    return standings?.[place] === "aside" ? tier + ASIDE_TIER : tier;
  });
}

/** What rows are compared by, least first: one list, and another where the first sees no difference. */
function measuresOf(
  { pooled, rows }: Sifted,
  figures: Figures,
  scores: Scores | undefined,
  { wishes }: PlanRequest,
): readonly [readonly number[], readonly number[]] {
  const sort = wishes?.provider?.sort;
  switch (sort) {
    case "price":
      return [figures.costNanos, figures.latencyMs];
    case "throughput":
      return [speeds((speed) => speed.perTokenMs), figures.costNanos];
    case "latency":
      return [speeds((speed) => speed.firstByteMs), figures.costNanos];
    case undefined: {
      if (scores === undefined) return [figures.costNanos, figures.latencyMs];
      const { total } = scores;
      return [rows.map((_, place) => (place < pooled ? -(total[place] ?? 0) : 0)), figures.costNanos];
    }
  }

  function speeds(of: (speed: NonNullable<Figures["measured"][number]>) => number): number[] {
    const values = figures.measured.map((speed) => (speed === undefined ? Number.NaN : of(speed)));
    fill(values, MEDIAN, pooled);
    return values;
  }
}

/** The best of a stretch of rows in order, without sorting the rest. */
function bestOf(from: number, to: number, compare: (a: number, b: number) => number): number[] {
  const best: number[] = [];
  for (let place = from; place < to; place += 1) {
    let at = best.length;
    if (at === SHORTLIST_MAX) {
      if (compare(place, best[at - 1] ?? 0) > 0) continue;
      best.pop();
      at -= 1;
    }
    while (at > 0 && compare(place, best[at - 1] ?? 0) < 0) at -= 1;
    best.splice(at, 0, place);
  }
  return best;
}

/** The pool, then the fallbacks while there are attempts left for them, then the rest; whoever is set aside is last. */
function joined(
  best: readonly number[],
  fallbacks: readonly number[],
  isAside: (place: number) => boolean,
  attemptsMax: number,
): readonly number[] {
  if (fallbacks.length === 0) return best;
  const ready = best.filter((place) => !isAside(place));
  const inReserve = fallbacks.filter((place) => !isAside(place));
  const before = Math.max(1, attemptsMax - Math.min(inReserve.length, FALLBACK_ATTEMPTS));
  return [
    ...ready.slice(0, before),
    ...inReserve,
    ...ready.slice(before),
    ...best.filter(isAside),
    ...fallbacks.filter(isAside),
  ];
}

function basisOf(
  first: number | undefined,
  tiers: readonly number[] | undefined,
  { wishes, route }: PlanRequest,
  pooled: number,
): Basis {
  const tier = first === undefined ? 0 : (tiers?.[first] ?? 0);
  if (tier === SESSION_FIRST) return "session";
  if (first !== undefined && first >= pooled) return "fallback";
  const preferences = wishes?.provider;
  if (preferences?.order !== undefined && tier < preferences.order.length) return "order";
  return preferences?.sort ?? (route.is === "router" ? "score" : "cost");
}

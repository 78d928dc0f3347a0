import type { SpenderKind } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

/** One limit, and how far it is used up in the period that runs. */
export type LimitFact = {
  readonly of: SpenderKind;
  readonly spenderId: string;
  readonly per: "day" | "month";
  /** The period's first day, as an ISO date. */
  readonly period: string;
  readonly limitNanos: bigint;
  readonly spentNanos: bigint;
  /** A request was refused because of it since it was last looked at. */
  readonly refused: boolean;
};

/** A key of the workspace's own at a provider; `status` is what the provider last refused it with. */
export type KeyFact = { readonly provider: string; readonly mark: string; readonly status: number | undefined };

export type Facts = {
  readonly balanceNanos: bigint;
  readonly limits: readonly LimitFact[];
  readonly keys: readonly KeyFact[];
};

/** What happened, in figures. */
export type Happening =
  | { readonly is: "balance_low"; readonly balanceNanos: bigint; readonly thresholdNanos: bigint }
  | { readonly is: "limit_reached"; readonly percent: number; readonly limit: LimitFact }
  | { readonly is: "credential_refused"; readonly provider: string; readonly status: number }
  | { readonly is: "test" };

/**
 * Something that was told and not yet forgotten: it is not told again. The mark says which period, limit or key it was
 * about; another one is another crossing.
 */
export type Standing = { readonly subject: string; readonly mark: string };

/** `happening` is null where another one says the same and more. */
export type Crossing = Standing & { readonly happening: Happening | null };

export type Judgement = { readonly crossed: readonly Crossing[]; readonly over: readonly Standing[] };

/** `rests`: whether it may be told again once it is not so any more, in the same period. */
type Matter = Standing & { readonly crossed: Happening | undefined; readonly rests: "armed" | "told" };

/** What must be told now, and what may be told again the next time. Pure: the same facts give the same answer. */
export function judge(rules: AlertRules, facts: Facts, standing: readonly Standing[]): Judgement {
  const told = new Map(standing.map((one) => [one.subject, one.mark]));
  const crossed: Crossing[] = [];
  const over: Standing[] = [];
  const known = new Set<string>();
  for (const group of mattersOf(rules, facts)) {
    // The strongest of a group is told, the weaker ones are taken as told with it.
    let louder = false;
    for (const { subject, mark, crossed: happening, rests } of group) {
      known.add(subject);
      const before = told.get(subject);
      const isTold = before === mark;
      if (before !== undefined && !isTold) over.push({ subject, mark: before });
      if (happening !== undefined && !isTold) crossed.push({ subject, mark, happening: louder ? null : happening });
      if (happening === undefined && isTold && rests === "armed") over.push({ subject, mark });
      louder ||= happening !== undefined || (isTold && rests === "told");
    }
  }
  over.push(...standing.filter(({ subject }) => !known.has(subject)));
  return { crossed, over };
}

/** Everything that could be told, the strongest of each group first. */
function mattersOf(rules: AlertRules, facts: Facts): Matter[][] {
  const { lowBalanceNanos, limitPercents, credentialRefused } = rules;
  const groups: Matter[][] = facts.limits
    .filter(({ limitNanos }) => limitNanos > 0n)
    .map((limit) => limitPercents.toSorted((a, b) => b - a).map((percent) => limitMatter(limit, percent)));
  if (lowBalanceNanos !== null) groups.push([balanceMatter(facts.balanceNanos, lowBalanceNanos)]);
  if (credentialRefused) groups.push(...facts.keys.map((key) => [keyMatter(key)]));
  return groups;
}

function balanceMatter(balanceNanos: bigint, thresholdNanos: bigint): Matter {
  const isLow = balanceNanos < thresholdNanos;
  const crossed: Happening | undefined = isLow ? { is: "balance_low", balanceNanos, thresholdNanos } : undefined;
  return { subject: "balance", mark: "", crossed, rests: "armed" };
}

/** A limit that refuses requests is used up, although what is left of it was never spent. */
function limitMatter(limit: LimitFact, percent: number): Matter {
  const { spenderId, per, period, limitNanos, spentNanos, refused } = limit;
  const isReached = spentNanos * 100n >= limitNanos * BigInt(percent) || (percent === 100 && refused);
  return {
    subject: `limit/${spenderId}/${per}/${percent}`,
    mark: `${period}/${limitNanos}`,
    crossed: isReached ? { is: "limit_reached", percent, limit } : undefined,
    rests: "told",
  };
}

function keyMatter({ provider, mark, status }: KeyFact): Matter {
  const crossed: Happening | undefined =
    status === undefined ? undefined : { is: "credential_refused", provider, status };
  return { subject: `credential/${provider}`, mark, crossed, rests: "told" };
}

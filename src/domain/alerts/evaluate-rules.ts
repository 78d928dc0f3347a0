import type { SpenderKind } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

/** One limit, and how far it is used up in the period that runs. */
export type LimitUsage = {
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
export type OwnKeyStatus = { readonly provider: string; readonly mark: string; readonly status: number | undefined };

export type AlertFacts = {
  readonly balanceNanos: bigint;
  readonly limits: readonly LimitUsage[];
  readonly keys: readonly OwnKeyStatus[];
};

/** What happened, in figures. */
export type AlertCondition =
  | { readonly is: "balance_low"; readonly balanceNanos: bigint; readonly thresholdNanos: bigint }
  | { readonly is: "limit_reached"; readonly percent: number; readonly limit: LimitUsage }
  | { readonly is: "credential_refused"; readonly provider: string; readonly status: number }
  | { readonly is: "test" };

/**
 * Something that was told and not yet forgotten: it is not told again. The mark says which period, limit or key it was
 * about; another one is another crossing.
 */
export type ActiveAlert = { readonly subject: string; readonly mark: string };

/** `happening` is null where another one says the same and more. */
export type NewAlert = ActiveAlert & { readonly condition: AlertCondition | null };

export type AlertEvaluation = { readonly raised: readonly NewAlert[]; readonly cleared: readonly ActiveAlert[] };

/** `rests`: whether it may be told again once it is not so any more, in the same period. */
type AlertCandidate = ActiveAlert & {
  readonly condition: AlertCondition | undefined;
  readonly rests: "armed" | "told";
};

/** What must be told now, and what may be told again the next time. Pure: the same facts give the same answer. */
export function evaluateRules(rules: AlertRules, facts: AlertFacts, standing: readonly ActiveAlert[]): AlertEvaluation {
  const told = new Map(standing.map((one) => [one.subject, one.mark]));
  const raised: NewAlert[] = [];
  const cleared: ActiveAlert[] = [];
  const known = new Set<string>();
  for (const group of candidatesOf(rules, facts)) {
    // The strongest of a group is told, the weaker ones are taken as told with it.
    let louder = false;
    for (const { subject, mark, condition: happening, rests } of group) {
      known.add(subject);
      const before = told.get(subject);
      const isTold = before === mark;
      if (before !== undefined && !isTold) cleared.push({ subject, mark: before });
      if (happening !== undefined && !isTold) raised.push({ subject, mark, condition: louder ? null : happening });
      if (happening === undefined && isTold && rests === "armed") cleared.push({ subject, mark });
      louder ||= happening !== undefined || (isTold && rests === "told");
    }
  }
  cleared.push(...standing.filter(({ subject }) => !known.has(subject)));
  return { raised, cleared };
}

/** Everything that could be told, the strongest of each group first. */
function candidatesOf(rules: AlertRules, facts: AlertFacts): AlertCandidate[][] {
  const { lowBalanceNanos, limitPercents, credentialRefused } = rules;
  const groups: AlertCandidate[][] = facts.limits
    .filter(({ limitNanos }) => limitNanos > 0n)
    .map((limit) => limitPercents.toSorted((a, b) => b - a).map((percent) => limitCandidate(limit, percent)));
  if (lowBalanceNanos !== null) groups.push([balanceCandidate(facts.balanceNanos, lowBalanceNanos)]);
  if (credentialRefused) groups.push(...facts.keys.map((key) => [ownKeyCandidate(key)]));
  return groups;
}

function balanceCandidate(balanceNanos: bigint, thresholdNanos: bigint): AlertCandidate {
  const isLow = balanceNanos < thresholdNanos;
  const condition: AlertCondition | undefined = isLow ? { is: "balance_low", balanceNanos, thresholdNanos } : undefined;
  return { subject: "balance", mark: "", condition, rests: "armed" };
}

/** A limit that refuses requests is used up, although what is left of it was never spent. */
function limitCandidate(limit: LimitUsage, percent: number): AlertCandidate {
  const { spenderId, per, period, limitNanos, spentNanos, refused } = limit;
  const isReached = spentNanos * 100n >= limitNanos * BigInt(percent) || (percent === 100 && refused);
  return {
    subject: `limit/${spenderId}/${per}/${percent}`,
    mark: `${period}/${limitNanos}`,
    condition: isReached ? { is: "limit_reached", percent, limit } : undefined,
    rests: "told",
  };
}

function ownKeyCandidate({ provider, mark, status }: OwnKeyStatus): AlertCandidate {
  const condition: AlertCondition | undefined =
    status === undefined ? undefined : { is: "credential_refused", provider, status };
  return { subject: `credential/${provider}`, mark, condition, rests: "told" };
}

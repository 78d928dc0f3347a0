import type { SpenderKind } from "../tenancy/limits.ts";
import type { AlertRules } from "./alert-rules.ts";

/** A spend limit and its usage in the current period. */
export type LimitUsage = {
  readonly of: SpenderKind;
  readonly spenderId: string;
  readonly per: "day" | "month";
  /** The period's first day, as an ISO date. */
  readonly period: string;
  readonly limitNanos: bigint;
  readonly spentNanos: bigint;
  /** The limit refused a request since the last evaluation. */
  readonly refused: boolean;
};

/** A workspace's own provider key; `status` is the provider's last refusal. */
export type OwnKeyStatus = { readonly provider: string; readonly mark: string; readonly status: number | undefined };

/** A data class and the requests with it since the last evaluation. */
export type DataClassCount = { readonly name: string; readonly requests: number };

export type AlertFacts = {
  /** The current day, as an ISO date. */
  readonly day: string;
  readonly dataClasses: readonly DataClassCount[];
  readonly balanceNanos: bigint;
  readonly limits: readonly LimitUsage[];
  readonly keys: readonly OwnKeyStatus[];
};

export type AlertCondition =
  | { readonly is: "balance_low"; readonly balanceNanos: bigint; readonly thresholdNanos: bigint }
  | { readonly is: "limit_reached"; readonly percent: number; readonly limit: LimitUsage }
  | { readonly is: "credential_refused"; readonly provider: string; readonly status: number }
  | { readonly is: "data_class_found"; readonly name: string; readonly requests: number; readonly day: string }
  | { readonly is: "test" };

/** An alert that was sent and is not sent again. `mark` identifies the period, limit or key: a new mark is a new alert. */
export type ActiveAlert = { readonly subject: string; readonly mark: string };

/** `condition` is null if a stronger alert of the same evaluation covers it: it is recorded and not sent. */
export type NewAlert = ActiveAlert & { readonly condition: AlertCondition | null };

export type AlertEvaluation = { readonly raised: readonly NewAlert[]; readonly cleared: readonly ActiveAlert[] };

/** `rearms`: the alert may fire again with the same mark after its condition ends. */
type AlertCandidate = ActiveAlert & {
  readonly condition: AlertCondition | undefined;
  readonly rearms: boolean;
};

/** The alerts to raise, and those that may fire again. */
export function evaluateRules(rules: AlertRules, facts: AlertFacts, active: readonly ActiveAlert[]): AlertEvaluation {
  const activeMarks = new Map(active.map(({ subject, mark }) => [subject, mark]));
  const raised: NewAlert[] = [];
  const cleared: ActiveAlert[] = [];
  const known = new Set<string>();
  for (const group of candidatesOf(rules, facts)) {
    // Only the strongest alert of a group is sent; it covers the weaker ones.
    let isCovered = false;
    for (const { subject, mark, condition, rearms } of group) {
      known.add(subject);
      const activeMark = activeMarks.get(subject);
      const isActive = activeMark === mark;
      if (activeMark !== undefined && !isActive) cleared.push({ subject, mark: activeMark });
      if (condition !== undefined && !isActive) raised.push({ subject, mark, condition: isCovered ? null : condition });
      if (condition === undefined && isActive && rearms) cleared.push({ subject, mark });
      isCovered ||= condition !== undefined || (isActive && !rearms);
    }
  }
  cleared.push(...active.filter(({ subject }) => !known.has(subject)));
  return { raised, cleared };
}

/** All possible alerts in groups, the strongest of each group first. */
function candidatesOf(rules: AlertRules, facts: AlertFacts): AlertCandidate[][] {
  const { lowBalanceNanos, limitPercents, credentialRefused, dataClasses } = rules;
  const groups: AlertCandidate[][] = facts.limits
    .filter(({ limitNanos }) => limitNanos > 0n)
    .map((limit) => limitPercents.toSorted((a, b) => b - a).map((percent) => limitCandidate(limit, percent)));
  if (lowBalanceNanos !== null) groups.push([balanceCandidate(facts.balanceNanos, lowBalanceNanos)]);
  if (credentialRefused) groups.push(...facts.keys.map((key) => [ownKeyCandidate(key)]));
  for (const name of dataClasses) groups.push([dataClassCandidate(name, facts)]);
  return groups;
}

/** Once a day: a workspace whose requests are full of a class would get an alert for each. */
function dataClassCandidate(name: string, { day, dataClasses }: AlertFacts): AlertCandidate {
  const requests = dataClasses.find((one) => one.name === name)?.requests ?? 0;
  const condition: AlertCondition | undefined =
    requests === 0 ? undefined : { is: "data_class_found", name, requests, day };
  return { subject: `data_class/${name}`, mark: day, condition, rearms: false };
}

function balanceCandidate(balanceNanos: bigint, thresholdNanos: bigint): AlertCandidate {
  const isLow = balanceNanos < thresholdNanos;
  const condition: AlertCondition | undefined = isLow ? { is: "balance_low", balanceNanos, thresholdNanos } : undefined;
  return { subject: "balance", mark: "", condition, rearms: true };
}

/** A limit that refused a request counts as reached, even if the remaining amount was too small to be spent. */
function limitCandidate(limit: LimitUsage, percent: number): AlertCandidate {
  const { spenderId, per, period, limitNanos, spentNanos, refused } = limit;
  const isReached = spentNanos * 100n >= limitNanos * BigInt(percent) || (percent === 100 && refused);
  return {
    subject: `limit/${spenderId}/${per}/${percent}`,
    mark: `${period}/${limitNanos}`,
    condition: isReached ? { is: "limit_reached", percent, limit } : undefined,
    rearms: false,
  };
}

function ownKeyCandidate({ provider, mark, status }: OwnKeyStatus): AlertCandidate {
  const condition: AlertCondition | undefined =
    status === undefined ? undefined : { is: "credential_refused", provider, status };
  return { subject: `credential/${provider}`, mark, condition, rearms: false };
}

/** Live requests with data classes, aggregated by these dimensions. */
export type DataClassSum = {
  /** Separated by commas. */
  readonly dataClasses: string;
  /** Of the serving endpoint; null: it has none. */
  readonly level: string | null;
  /** What was done before it received the request. */
  readonly action: string;
  readonly isServed: boolean;
  readonly requests: number;
};

/** What happened to requests with data of one class. */
export type DataClassUsage = {
  readonly name: string;
  readonly requests: number;
  /** The most frequent first. */
  readonly served: readonly { readonly level: string; readonly action: string; readonly requests: number }[];
  /** No endpoint served them: refused, or failed. */
  readonly unserved: number;
  /** The same as one sentence. */
  readonly summary: string;
};

/** Named in the summary; the rest is one number. */
const GROUPS_NAMED = 5;

/** By class, the most frequent first; a request with data of two classes counts for both. */
export function dataClassUsage(sums: readonly DataClassSum[]): DataClassUsage[] {
  const byClass = new Map<string, DataClassSum[]>();
  for (const sum of sums)
    for (const name of sum.dataClasses.split(",")) {
      const own = byClass.get(name) ?? [];
      byClass.set(name, own);
      own.push(sum);
    }
  return [...byClass]
    .map(([name, own]) => usageOf(name, own))
    .toSorted((a, b) => b.requests - a.requests || (a.name < b.name ? -1 : 1));
}

function usageOf(name: string, sums: readonly DataClassSum[]): DataClassUsage {
  const groups = new Map<string, { level: string; action: string; requests: number }>();
  let [requests, unserved] = [0, 0];
  for (const { level, action, isServed, requests: count } of sums) {
    requests += count;
    if (!isServed) unserved += count;
    else {
      const key = `${level} ${action}`;
      const group = groups.get(key) ?? { level: level ?? "UNCLASSIFIED", action, requests: 0 };
      groups.set(key, group);
      group.requests += count;
    }
  }
  const served = [...groups.values()].toSorted(
    (a, b) => b.requests - a.requests || (`${a.level}${a.action}` < `${b.level}${b.action}` ? -1 : 1),
  );
  const named = served.slice(0, GROUPS_NAMED);
  const others = served.slice(GROUPS_NAMED).reduce((sum, group) => sum + group.requests, 0);
  const parts = [
    ...named.map(
      ({ level, action, requests: count }) => `${written(count)}${action === "none" ? "" : ` ${action}`} at ${level}`,
    ),
    ...(unserved === 0 ? [] : [`${written(unserved)} served by no endpoint`]),
    `${written(others)} otherwise`,
  ];
  const noun = requests === 1 ? "request" : "requests";
  return {
    name,
    requests,
    served,
    unserved,
    summary: `${written(requests)} ${noun} with ${name} data: ${parts.join(", ")}`,
  };
}

const written = (count: number) => count.toLocaleString("en");

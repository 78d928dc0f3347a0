import type { Level } from "./level.ts";

/** Strictness order: a later one includes what an earlier one does. */
export const DATA_CLASS_ACTIONS = ["report", "block"] as const;
export type DataClassAction = (typeof DATA_CLASS_ACTIONS)[number];

/** What holds for requests that contain data of a class. */
export type DataClassRule = {
  /** Only endpoints of this level or above may process them. */
  readonly floor?: Level;
  readonly action?: DataClassAction;
  /** The action holds for endpoints below this level only; absent: for all. */
  readonly below?: Level;
};

/** By class. */
export type DataClassRules = Readonly<Record<string, DataClassRule>>;

/** What the rules make of the classes that a request contains. */
export type DataClassVerdict = {
  readonly floor: Level | null;
  /** A class that no endpoint may process. */
  readonly blocked: string | undefined;
};

/** The level that endpoints need for a class, or `blocked`. */
type Demand = Level | "blocked" | null;

const ORDER: readonly Demand[] = [null, "L0", "L1", "L2", "L3", "L4", "blocked"];
const rankOf = (demand: Demand) => ORDER.indexOf(demand);
const stricter = (one: Demand, other: Demand): Demand => (rankOf(other) > rankOf(one) ? other : one);

/** Blocked below a level is nothing but a floor; reporting demands nothing. */
function demandOf({ floor, action, below }: DataClassRule): Demand {
  return stricter(floor ?? null, action === "block" ? (below ?? "blocked") : null);
}

/** Both hold: for each class the stricter demand. Returns the same object if nothing is added. */
export function tightenDataClasses(
  rules: DataClassRules | undefined,
  more: DataClassRules | undefined,
): DataClassRules | undefined {
  if (more === undefined || rules === more) return rules;
  if (rules === undefined) return more;
  const added = Object.entries(more).filter(([name, rule]) => {
    const own = rules[name];
    return own === undefined || rankOf(demandOf(rule)) > rankOf(demandOf(own));
  });
  return added.length === 0 ? rules : { ...rules, ...Object.fromEntries(added) };
}

/** Keeps the stricter of two rules for one class: a block replaces a floor, and a higher level a lower one. */
export function judgeDataClasses(rules: DataClassRules, classes: Iterable<string>): DataClassVerdict {
  let floor: Demand = null;
  for (const name of classes) {
    const rule = rules[name];
    if (rule === undefined) continue;
    const demand = demandOf(rule);
    if (demand === "blocked") return { floor: null, blocked: name };
    floor = stricter(floor, demand);
  }
  return { floor: floor === "blocked" ? null : floor, blocked: undefined };
}

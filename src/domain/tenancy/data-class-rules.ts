import type { JsonObject } from "../../kit/json.ts";
import { LEVELS, type Level } from "./level.ts";

/** Strictness order: a later one includes what an earlier one does. */
export const DATA_CLASS_ACTIONS = ["report", "pseudonymise", "redact", "block"] as const;
export type DataClassAction = (typeof DATA_CLASS_ACTIONS)[number];
/** What happens to data of a class that a reply contains and the request did not; in order of strictness. */
export const OUTPUT_ACTIONS = ["report", "redact", "block"] as const;
export type OutputAction = (typeof OUTPUT_ACTIONS)[number];
/** What happens to data of a class before an endpoint receives the rest of the request. */
export type Treatment = Exclude<DataClassAction, "report" | "block">;

/** What holds for requests that contain data of a class. */
export type DataClassRule = {
  /** Only endpoints of this level or above may process them. */
  readonly floor?: Level | undefined;
  readonly action?: DataClassAction | undefined;
  /** The action holds for endpoints below this level only; absent: for all. */
  readonly below?: Level | undefined;
  readonly output?: OutputAction | undefined;
  /** Combined policies: further rules for the class, which hold as well. */
  readonly and?: readonly DataClassRule[];
  /** The rule as it is stored, if another version wrote it and this one cannot read it: it blocks, and is kept as it is. */
  readonly unread?: JsonObject;
};

/** By class. */
export type DataClassRules = Readonly<Record<string, DataClassRule>>;

/** What the rules make of the classes that a request contains. */
export type DataClassVerdict = {
  readonly floor: Level | null;
  /** The class whose rule sets the floor. */
  readonly floorOf: string | undefined;
  /** A class that no endpoint may process. */
  readonly blocked: string | undefined;
};

/** The classes that detectors can find. */
export const DATA_CLASSES = ["personal", "special", "secret", "business"] as const;
/** Images, audio and other files, which no detector reads: their rules can raise the floor, report and block. */
export const UNINSPECTED = "uninspected";

/** Whether stand-ins can be found again in a reply: not in audio, vectors, and a text with the probability of each token. */
export type Reply = "restorable" | "unrestorable" | "with_logprobs";

/** The level that endpoints need for a class, or `blocked`. */
type Demand = Level | "blocked" | null;

const ORDER: readonly Demand[] = [null, ...LEVELS, "blocked"];
const rankOf = (demand: Demand) => ORDER.indexOf(demand);
const stricter = (one: Demand, other: Demand): Demand => (rankOf(other) > rankOf(one) ? other : one);

const partsOf = (rule: DataClassRule): readonly DataClassRule[] => [rule, ...(rule.and ?? [])];

/** Blocked below a level is nothing but a floor; what changes the text demands none, unless the change could not be undone. */
function demandOf(rule: DataClassRule, reply: Reply): Demand {
  return partsOf(rule).reduce<Demand>((most, { floor, action, below }) => {
    const isBlocked = action === "block" || (action === "pseudonymise" && reply !== "restorable");
    return stricter(stricter(most, floor ?? null), isBlocked ? (below ?? "blocked") : null);
  }, null);
}

/** An endpoint without a level is below every one. */
const isBelow = (level: string, below: Level) => LEVELS.indexOf(level as Level) < LEVELS.indexOf(below);

/** The strictest action of the rule for endpoints of a level. */
function actionAt(rule: DataClassRule, level: string): DataClassAction {
  let most = 0;
  for (const { action, below } of partsOf(rule)) {
    if (action === undefined || (below !== undefined && !isBelow(level, below))) continue;
    most = Math.max(most, DATA_CLASS_ACTIONS.indexOf(action));
  }
  return DATA_CLASS_ACTIONS[most] ?? "block";
}

/** -1: replies are not read for it. */
const outputRank = (rule: DataClassRule) =>
  Math.max(...partsOf(rule).map(({ output }) => (output === undefined ? -1 : OUTPUT_ACTIONS.indexOf(output))));

/** The classes that replies are read for. */
export function outputActions(rules: DataClassRules): ReadonlyMap<string, OutputAction> {
  const actions = new Map<string, OutputAction>();
  for (const [name, rule] of Object.entries(rules)) {
    const action = OUTPUT_ACTIONS[outputRank(rule)];
    if (action !== undefined) actions.set(name, action);
  }
  return actions;
}

const LEVEL_STATES = ["UNCLASSIFIED", ...LEVELS];

/** True when a rule is stricter than another one for endpoints of some level. */
function adds(rule: DataClassRule, own: DataClassRule): boolean {
  if (rankOf(demandOf(rule, "restorable")) > rankOf(demandOf(own, "restorable"))) return true;
  if (outputRank(rule) > outputRank(own)) return true;
  return LEVEL_STATES.some(
    (level) => DATA_CLASS_ACTIONS.indexOf(actionAt(rule, level)) > DATA_CLASS_ACTIONS.indexOf(actionAt(own, level)),
  );
}

/** Both hold: for each class, at each level, the stricter demand. Returns the same object if nothing is added. */
export function tightenDataClasses(
  rules: DataClassRules | undefined,
  more: DataClassRules | undefined,
): DataClassRules | undefined {
  if (more === undefined || rules === more) return rules;
  if (rules === undefined) return more;
  const added = Object.entries(more).flatMap(([name, rule]): [string, DataClassRule][] => {
    const own = rules[name];
    if (own === undefined) return [[name, rule]];
    return adds(rule, own) ? [[name, { ...own, and: [...(own.and ?? []), ...partsOf(rule)] }]] : [];
  });
  return added.length === 0 ? rules : { ...rules, ...Object.fromEntries(added) };
}

/** Keeps the stricter of two rules for one class: a block replaces a floor, and a higher level a lower one. */
export function judgeDataClasses(
  rules: DataClassRules,
  classes: Iterable<string>,
  reply: Reply = "restorable",
): DataClassVerdict {
  let floor: Demand = null;
  let floorOf: string | undefined;
  for (const name of classes) {
    const rule = rules[name];
    if (rule === undefined) continue;
    const demand = demandOf(rule, reply);
    if (demand === "blocked") return { floor: null, floorOf: undefined, blocked: name };
    if (rankOf(demand) <= rankOf(floor)) continue;
    floor = demand;
    floorOf = name;
  }
  return { floor, floorOf, blocked: undefined };
}

/** The first of these rules, each of which includes those before it, that demands as much of a class as the last one. */
export function firstDemanding<T extends { readonly rules: DataClassRules | undefined }>(
  layers: readonly T[],
  name: string,
  reply: Reply,
): T | undefined {
  const demand = (layer: T | undefined) => demandOf(layer?.rules?.[name] ?? {}, reply);
  return layers.find((layer) => demand(layer) === demand(layers.at(-1)));
}

/** The highest level that a rule names: a detector that looks for the class must have it. */
export function levelNamedBy(rule: DataClassRule): Level | null {
  const named = partsOf(rule).flatMap(({ floor, below }) => [floor ?? null, below ?? null]);
  return named.reduce((most, level) => (rankOf(level) > rankOf(most) ? level : most), null);
}

/** A class with a rule that was not looked for: nothing tells that a request is free of it. */
export function unknownClass(rules: DataClassRules, known: Pick<ReadonlySet<string>, "has">): string | undefined {
  return Object.entries(rules).find(([name, rule]) => name !== UNINSPECTED && !known.has(name) && adds(rule, {}))?.[0];
}

/** As their owner wrote them. */
export function writtenRules(rules: DataClassRules): Readonly<Record<string, JsonObject>> {
  return Object.fromEntries(Object.entries(rules).map(([name, rule]) => [name, writtenRule(rule)]));
}

function writtenRule(rule: DataClassRule): JsonObject {
  return rule.unread ?? (rule.and === undefined ? rule : { ...rule, and: rule.and.map(writtenRule) });
}

/** What has to happen to data of the classes before an endpoint of this level receives it. */
export function treatmentsAt(
  rules: DataClassRules,
  classes: Iterable<string>,
  level: string,
): ReadonlyMap<string, Treatment> {
  const treatments = new Map<string, Treatment>();
  for (const name of classes) {
    const rule = rules[name];
    const action = rule === undefined ? "report" : actionAt(rule, level);
    // Endpoints for which it is blocked are excluded; one that got here all the same learns nothing.
    if (action !== "report") treatments.set(name, action === "block" ? "redact" : action);
  }
  return treatments;
}

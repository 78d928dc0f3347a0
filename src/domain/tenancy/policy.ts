import type { CacheRule } from "./cache-rule.ts";
import { type DataClassRules, tightenDataClasses } from "./data-class-rules.ts";
import { LEVELS, type Level } from "./level.ts";

export { LEVELS, type Level };
/** `UNCLASSIFIED` is a data-quality state, not a level: it satisfies no floor. */
export type LevelState = Level | "UNCLASSIFIED";

/** Requirements on every endpoint that may process a workspace's traffic. */
export type Policy = {
  readonly floor: Level | null;
  /** Allowed compute countries (ISO 3166-1 alpha-2); null allows every country. */
  readonly countries: readonly string[] | null;
  readonly zeroDataRetention: boolean;
  readonly noTraining: boolean;
  readonly blockedProviders: readonly string[];
  /** Allowed model ids; null allows every model. */
  readonly allowedModels: readonly string[] | null;
  /** Set by a workspace only: its own nodes may serve below its floor. */
  readonly ownNodesExempt: boolean;
  /** Set by a workspace only: its test keys reach simulated providers only. */
  readonly testKeysSimulated: boolean;
  /** Null: not stated, which is `strict` in force. A key's own value replaces the workspace's. */
  readonly parameters: ParameterHandling | null;
  /** Rules for requests that contain data of a class; absent: requests are not inspected. */
  readonly dataClasses?: DataClassRules;
  /** Absent: replies are not cached. */
  readonly cache?: CacheRule;
  /** Combined policies: the floor that key, router and request add, which holds for exempt nodes as well. */
  readonly addedFloor?: Level | null;
  /** Judged policies: where the floor comes from, if not from a rule of its own. */
  readonly floorNote?: string;
  /** Combined policies: only simulated providers are allowed. */
  readonly simulatedOnly?: boolean;
};

/**
 * `strict`: a parameter that an endpoint's dialect lacks is rejected whatever its value. `lenient`: values that request
 * nothing are accepted there.
 */
export type ParameterHandling = "strict" | "lenient";

/** The rules that a workspace can set; the other fields of a policy are derived. */
export type PolicyRuleName = Exclude<
  keyof Policy,
  "addedFloor" | "simulatedOnly" | "dataClasses" | "cache" | "floorNote"
>;

export const OPEN_POLICY: Policy = {
  floor: null,
  countries: null,
  zeroDataRetention: false,
  noTraining: false,
  blockedProviders: [],
  allowedModels: null,
  ownNodesExempt: false,
  testKeysSimulated: false,
  parameters: null,
};

/** A policy that was in force from its creation until the next version. */
export type PolicyVersion = {
  readonly workspaceId: string;
  /** The key that it tightens the workspace's policy for; null: the workspace's own policy. */
  readonly keyId: string | null;
  /** Counts from 1 per workspace or key. */
  readonly version: number;
  readonly createdAtMs: number;
  /** Null: adds no rule. */
  readonly policy: Partial<Policy> | null;
};

export function levelRank(level: LevelState): number {
  return level === "UNCLASSIFIED" ? -1 : LEVELS.indexOf(level);
}

/**
 * Combines two policies: the stricter floor, the intersection of allowlists and the union of requirements and blocks. It
 * never reaches more endpoints. Returns the same object if nothing is added.
 */
export function tightenPolicy(policy: Policy, more: Partial<Policy> | null | undefined): Policy {
  if (more === null || more === undefined) return policy;
  const floor = stricterFloor(policy.floor, more.floor ?? null);
  const countries = intersect(policy.countries, more.countries ?? null);
  const zeroDataRetention = policy.zeroDataRetention || more.zeroDataRetention === true;
  const noTraining = policy.noTraining || more.noTraining === true;
  const blockedProviders = union(policy.blockedProviders, more.blockedProviders ?? []);
  const allowedModels = intersect(policy.allowedModels, more.allowedModels ?? null);
  const ownNodesExempt = policy.ownNodesExempt && more.ownNodesExempt !== false;
  const testKeysSimulated = policy.testKeysSimulated || more.testKeysSimulated === true;
  const addedFloor = ownNodesExempt ? addedFloorOf(policy, more) : null;
  const parameters = more.parameters ?? policy.parameters;
  const simulatedOnly = policy.simulatedOnly === true || more.simulatedOnly === true;
  const dataClasses =
    more.dataClasses === undefined ? policy.dataClasses : tightenDataClasses(policy.dataClasses, more.dataClasses);
  const cache = more.cache === undefined ? policy.cache : { ...policy.cache, ...more.cache };
  const same =
    floor === policy.floor &&
    countries === policy.countries &&
    zeroDataRetention === policy.zeroDataRetention &&
    noTraining === policy.noTraining &&
    blockedProviders === policy.blockedProviders &&
    allowedModels === policy.allowedModels &&
    ownNodesExempt === policy.ownNodesExempt &&
    testKeysSimulated === policy.testKeysSimulated &&
    parameters === policy.parameters &&
    dataClasses === policy.dataClasses &&
    cache === policy.cache &&
    addedFloor === (policy.addedFloor ?? null) &&
    simulatedOnly === (policy.simulatedOnly ?? false);
  if (same) return policy;
  return {
    floor,
    countries,
    zeroDataRetention,
    noTraining,
    blockedProviders,
    allowedModels,
    ownNodesExempt,
    testKeysSimulated,
    parameters,
    ...(dataClasses === undefined ? {} : { dataClasses }),
    ...(cache === undefined ? {} : { cache }),
    ...(addedFloor === null ? {} : { addedFloor }),
    ...(simulatedOnly ? { simulatedOnly } : {}),
  };
}

/** A policy that exempts own nodes itself adds only what was added to it, any other its own floor. */
function addedFloorOf(policy: Policy, more: Partial<Policy>): Level | null {
  const added = more.ownNodesExempt === true ? more.addedFloor : more.floor;
  return stricterFloor(policy.addedFloor ?? null, added ?? null);
}

/** The floor for the workspace's own nodes. */
export function ownNodeFloor({ floor, ownNodesExempt, addedFloor }: Policy): Level | null {
  return ownNodesExempt ? (addedFloor ?? null) : floor;
}

/** The combined policy of a workspace and one of its keys. */
export function policyOfKey(
  policy: Policy,
  key: { readonly environment: "live" | "test"; readonly policy: Partial<Policy> | null },
): Policy {
  const isSimulatedOnly = policy.testKeysSimulated && key.environment === "test";
  return tightenPolicy(isSimulatedOnly ? { ...policy, simulatedOnly: true } : policy, key.policy);
}

function stricterFloor(one: Level | null, other: Level | null): Level | null {
  if (one === null || other === null) return one ?? other;
  return levelRank(other) > levelRank(one) ? other : one;
}

/** The intersection of two allowlists; null allows everything, and disjoint lists allow nothing. */
function intersect(one: readonly string[] | null, other: readonly string[] | null): readonly string[] | null {
  if (one === null || other === null || one === other) return one ?? other;
  const allowed = new Set(other);
  return one.every((name) => allowed.has(name)) ? one : one.filter((name) => allowed.has(name));
}

function union(one: readonly string[], other: readonly string[]): readonly string[] {
  const added = other.filter((name) => !one.includes(name));
  return added.length === 0 ? one : [...one, ...added];
}

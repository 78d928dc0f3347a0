/** What a workspace demands of every endpoint that may see its traffic. */
export const LEVELS = ["L0", "L1", "L2", "L3", "L4"] as const;
export type Level = (typeof LEVELS)[number];
/** A data-quality state, not a rung: it satisfies no floor. */
export type LevelState = Level | "UNCLASSIFIED";

export type Policy = {
  readonly floor: Level | null;
  /** Allowed compute countries (ISO 3166-1 alpha-2); null allows every country. */
  readonly countries: readonly string[] | null;
  readonly zeroDataRetention: boolean;
  readonly noTraining: boolean;
  readonly blockedProviders: readonly string[];
  /** Allowed model ids; null allows every model. */
  readonly allowedModels: readonly string[] | null;
};

export const OPEN_POLICY: Policy = {
  floor: null,
  countries: null,
  zeroDataRetention: false,
  noTraining: false,
  blockedProviders: [],
  allowedModels: null,
};

/** A policy as it was from one time on, until the next version. */
export type PolicyVersion = {
  readonly workspaceId: string;
  /** The key that demands it on top of its workspace; null: the workspace itself. */
  readonly keyId: string | null;
  /** 1, 2, 3 … for each of them. */
  readonly version: number;
  readonly createdAtMs: number;
  /** Null: it demands nothing more. */
  readonly policy: Partial<Policy> | null;
};

export function levelRank(level: LevelState): number {
  return level === "UNCLASSIFIED" ? -1 : LEVELS.indexOf(level);
}

/**
 * A policy with the demands of another on top: the strictest floor, only what both allow, everything that either
 * demands or blocks. There is no way to loosen one. The same object comes back when nothing is added.
 */
export function tightenPolicy(policy: Policy, more: Partial<Policy> | null | undefined): Policy {
  if (more === null || more === undefined) return policy;
  const floor = stricterFloor(policy.floor, more.floor ?? null);
  const countries = intersect(policy.countries, more.countries ?? null);
  const zeroDataRetention = policy.zeroDataRetention || more.zeroDataRetention === true;
  const noTraining = policy.noTraining || more.noTraining === true;
  const blockedProviders = union(policy.blockedProviders, more.blockedProviders ?? []);
  const allowedModels = intersect(policy.allowedModels, more.allowedModels ?? null);
  const same =
    floor === policy.floor &&
    countries === policy.countries &&
    zeroDataRetention === policy.zeroDataRetention &&
    noTraining === policy.noTraining &&
    blockedProviders === policy.blockedProviders &&
    allowedModels === policy.allowedModels;
  return same ? policy : { floor, countries, zeroDataRetention, noTraining, blockedProviders, allowedModels };
}

function stricterFloor(one: Level | null, other: Level | null): Level | null {
  if (one === null || other === null) return one ?? other;
  return levelRank(other) > levelRank(one) ? other : one;
}

/** What both lists allow; null is no list. Lists that have nothing in common allow nothing. */
function intersect(one: readonly string[] | null, other: readonly string[] | null): readonly string[] | null {
  if (one === null || other === null || one === other) return one ?? other;
  const allowed = new Set(other);
  return one.every((name) => allowed.has(name)) ? one : one.filter((name) => allowed.has(name));
}

function union(one: readonly string[], other: readonly string[]): readonly string[] {
  const added = other.filter((name) => !one.includes(name));
  return added.length === 0 ? one : [...one, ...added];
}

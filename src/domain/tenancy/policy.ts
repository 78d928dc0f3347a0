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

export function rungOf(level: LevelState): number {
  return level === "UNCLASSIFIED" ? -1 : LEVELS.indexOf(level);
}

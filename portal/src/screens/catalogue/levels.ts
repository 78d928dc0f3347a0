/** Lowest first. */
const LEVELS: readonly string[] = ["L0", "L1", "L2", "L3", "L4"];

/** The levels at or above a floor, as the API's filter; empty without a floor. */
export function levelsFrom(floor: string): string {
  const at = LEVELS.indexOf(floor);
  return at < 0 ? "" : LEVELS.slice(at).join(",");
}

export const LEVEL_OPTIONS = [
  { value: "", label: "All levels" },
  ...LEVELS.map((value) => ({ value, label: `${value} or higher` })),
];

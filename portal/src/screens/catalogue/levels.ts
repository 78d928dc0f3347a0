/** The rungs, lowest first. */
const LEVELS: readonly string[] = ["L0", "L1", "L2", "L3", "L4"];

/** A floor as the catalogue is asked for it: this level and all above; empty when it is none. */
export function levelsFrom(floor: string): string {
  const at = LEVELS.indexOf(floor);
  return at < 0 ? "" : LEVELS.slice(at).join(",");
}

export const LEVEL_OPTIONS = [
  { value: "", label: "Every level" },
  ...LEVELS.map((value) => ({ value, label: `${value} or higher` })),
];

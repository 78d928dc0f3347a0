// Lists are immutable, so a set built from one stays valid.
const modelSets = new WeakMap<readonly string[], ReadonlySet<string>>();

/** A long list of models as a set. */
export function modelSetOf(list: readonly string[]): ReadonlySet<string> {
  const known = modelSets.get(list) ?? new Set(list);
  modelSets.set(list, known);
  return known;
}

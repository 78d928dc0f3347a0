/** Items that are sorted at once, in less than a millisecond. */
const RUN_ITEMS = 1_024;
const MERGED_ITEMS = 4_096;
/** What comparing and moving an item costs, measured in characters that a scan reads in the same time. */
const ITEM_CHARS = 8;

/** A stable sort that yields the work done in characters, so that other work may run between its steps. */
export function* sortSteps<T>(items: readonly T[], compare: (a: T, b: T) => number): Generator<number, T[]> {
  let runs: T[][] = [];
  for (let at = 0; at < items.length; at += RUN_ITEMS) {
    runs.push(items.slice(at, at + RUN_ITEMS).toSorted(compare));
    yield RUN_ITEMS * ITEM_CHARS;
  }
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      const [one = [], other] = [runs[at], runs[at + 1]];
      merged.push(other === undefined ? one : yield* mergeSteps(one, other, compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeSteps<T>(
  one: readonly T[],
  other: readonly T[],
  compare: (a: T, b: T) => number,
): Generator<number, T[]> {
  const [last] = one.slice(-1);
  const [first] = other;
  if (last === undefined || first === undefined || compare(last, first) <= 0) {
    yield one.length + other.length;
    return one.concat(other);
  }
  const merged: T[] = [];
  let [a, b] = [0, 0];
  while (a < one.length && b < other.length) {
    const [left, right] = [one[a] as T, other[b] as T];
    if (compare(left, right) <= 0) {
      merged.push(left);
      a++;
    } else {
      merged.push(right);
      b++;
    }
    if (merged.length % MERGED_ITEMS === 0) yield MERGED_ITEMS * ITEM_CHARS;
  }
  yield one.length + other.length - a - b;
  return merged.concat(one.slice(a), other.slice(b));
}

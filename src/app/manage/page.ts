import { cutPage, decodeCursor, type Place } from "../../io/store/sql/page.ts";

type Dated = { readonly id: string; readonly createdAtMs: number };

export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };

/** Newest first; the cursor is the place of the last row, so it holds although rows come and go. */
export function pageOf<T extends Dated>(items: readonly T[], limit: number, cursor: string | undefined): Page<T> {
  const sorted = items.toSorted((a, b) => newestFirst(placeOf(a), placeOf(b)));
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const rest = after === undefined ? sorted : sorted.filter((item) => newestFirst(placeOf(item), after) > 0);
  const { page, next } = cutPage(rest, limit, placeOf);
  return { rows: page, next };
}

function placeOf({ createdAtMs, id }: Dated): Place {
  return { atMs: createdAtMs, id };
}

function newestFirst(a: Place, b: Place): number {
  if (a.atMs !== b.atMs) return b.atMs - a.atMs;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

import { decodeCursor, type PageCursor, slicePage } from "../../io/store/sql/keyset-page.ts";

type PageRow = { readonly id: string; readonly createdAtMs: number };

export type ResultPage<T> = { readonly rows: readonly T[]; readonly next: string | null };

/** Newest first; the cursor is the last row's position, so it stays valid when rows are added or removed. */
export function paginate<T extends PageRow>(
  items: readonly T[],
  limit: number,
  cursor: string | undefined,
): ResultPage<T> {
  const sorted = items.toSorted((a, b) => newestFirst(positionOf(a), positionOf(b)));
  const after = cursor === undefined ? undefined : decodeCursor(cursor);
  const rest = after === undefined ? sorted : sorted.filter((item) => newestFirst(positionOf(item), after) > 0);
  const { page, next } = slicePage(rest, limit, positionOf);
  return { rows: page, next };
}

function positionOf({ createdAtMs, id }: PageRow): PageCursor {
  return { atMs: createdAtMs, id };
}

function newestFirst(a: PageCursor, b: PageCursor): number {
  if (a.atMs !== b.atMs) return b.atMs - a.atMs;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

import { invalidValue } from "../body.ts";

type Dated = { readonly id: string; readonly createdAtMs: number };

export type Page<T> = { readonly rows: readonly T[]; readonly next: string | null };

/** Newest first; the cursor is the place of the last row, so it holds although rows come and go. */
export function pageOf<T extends Dated>(items: readonly T[], limit: number, cursor: string | undefined): Page<T> {
  const sorted = items.toSorted(newestFirst);
  const after = cursor === undefined ? undefined : readCursor(cursor);
  const from = after === undefined ? 0 : sorted.findIndex((item) => newestFirst(item, after) > 0);
  const rows = from < 0 ? [] : sorted.slice(from, from + limit);
  const last = rows.at(-1);
  const more = last !== undefined && from + limit < sorted.length;
  return { rows, next: more ? writeCursor(last) : null };
}

function newestFirst(a: Dated, b: Dated): number {
  if (a.createdAtMs !== b.createdAtMs) return b.createdAtMs - a.createdAtMs;
  if (a.id === b.id) return 0;
  return a.id < b.id ? 1 : -1;
}

function writeCursor({ createdAtMs, id }: Dated): string {
  return Buffer.from(`${createdAtMs}.${id}`).toString("base64url");
}

function readCursor(cursor: string): Dated {
  const match = /^(\d{1,16})\.(.+)$/.exec(Buffer.from(cursor, "base64url").toString("utf8"));
  const id = match?.[2];
  if (id === undefined) throw invalidValue("cursor", "send `next` of the page before");
  return { createdAtMs: Number(match?.[1]), id };
}

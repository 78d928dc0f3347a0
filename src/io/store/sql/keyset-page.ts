import { type RawBuilder, sql } from "kysely";
import { fault } from "../../../contract/faults.ts";
import type { PlanHints } from "./engine.ts";

const PAGE_MAX = 1000;

/** The time and id of the last row of a page, which together are unique. */
export type PageCursor = { readonly atMs: number; readonly id: string };

export function pageSize(limit: number): number {
  return Math.min(Math.max(1, Math.trunc(limit)), PAGE_MAX);
}

function encodeCursor({ atMs, id }: PageCursor): string {
  return Buffer.from(`${atMs}.${id}`).toString("base64url");
}

export function decodeCursor(cursor: string): PageCursor {
  const match = /^(\d{1,15})\.(.+)$/s.exec(Buffer.from(cursor, "base64url").toString("utf8"));
  const [, atMs, id] = match ?? [];
  if (atMs === undefined || id === undefined)
    throw fault("invalid_value", {
      message: "The cursor is invalid. Start without a cursor, and pass `next` of each response unchanged.",
      param: "cursor",
    });
  return { atMs: Number(atMs), id };
}

/** The newest rows of several selects, each of which has an index in this order. */
export function newestOf<Row>(hints: PlanHints, selects: readonly RawBuilder<unknown>[], count: number) {
  const ending = sql`order by created_at_ms desc, id desc limit ${count}`;
  const arms = selects.length > 1 ? selects.map((select) => hints.arm(select, ending)) : selects;
  return sql<Row>`${sql.join(arms, sql` union all `)} ${ending}`;
}

/** Expects one extra row, which shows whether there is a next page. */
export function slicePage<Row>(rows: readonly Row[], size: number, cursorOf: (row: Row) => PageCursor) {
  const page = rows.slice(0, size);
  const last = page.at(-1);
  return { page, next: rows.length > size && last !== undefined ? encodeCursor(cursorOf(last)) : null };
}

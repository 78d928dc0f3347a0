import type { ReactNode } from "react";

/** What a column is sorted by; unknown values come last. */
export type SortValue = string | number | bigint | null | undefined;

export type Column<T> = {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: T) => ReactNode;
  readonly align?: "start" | "end" | undefined;
  /** The table sorts by it, as soon as all rows are loaded: a part of a list is never sorted. */
  readonly sortValue?: ((row: T) => SortValue) | undefined;
  /** The API sorts: the caller passes `sort` and `onSort`, and rows in that order. */
  readonly sortable?: boolean | undefined;
  /** The first click sorts in descending order. */
  readonly descendingFirst?: boolean | undefined;
  /** On phones: the title of the card, part of the line below it, or hidden. Default: a line with the header. */
  readonly phone?: "title" | "line" | "hide" | undefined;
  /** Not shown until chosen in the column menu. */
  readonly optional?: boolean | undefined;
  /** The name in the column menu, if the header is not a text. */
  readonly label?: string | undefined;
  readonly className?: string | undefined;
};

export type Sort = { readonly by: string; readonly order: "asc" | "desc" };

/** Row actions stay visible at the right edge. */
export const ACTIONS = "actions";

export function labelOf<T>({ header, label, id }: Column<T>): string {
  return label ?? (typeof header === "string" ? header : id);
}

/** The ascending order of two values; neither is unknown. */
export function compareValues(left: SortValue, right: SortValue): number {
  if (typeof left === "string" || typeof right === "string")
    return String(left).localeCompare(String(right), undefined, { numeric: true });
  return Number(left) < Number(right) ? -1 : Number(left) > Number(right) ? 1 : 0;
}

/** Parses the query parameter `?sort=-spend`. */
export function sortOf(text: string): Sort {
  return text.startsWith("-") ? { by: text.slice(1), order: "desc" } : { by: text, order: "asc" };
}

export function sortText({ by, order }: Sort): string {
  return order === "desc" ? `-${by}` : by;
}

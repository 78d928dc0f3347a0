import { useCallback, useState } from "react";
import type { Column } from "./column.ts";

/** By column ID; a column that is missing has its default. */
export type Visibility = Readonly<Record<string, boolean>>;

const storageKey = (table: string) => `table-columns:${table}`;

/** The columns that the reader has shown or hidden, kept in the browser per table. */
export function useColumnVisibility<T>(
  table: string,
  columns: readonly Column<T>[],
): { readonly visibility: Visibility; readonly show: (id: string, isShown: boolean) => void; reset: () => void } {
  const [chosen, setChosen] = useState<Visibility>(() => readVisibility(localStorage.getItem(storageKey(table))));
  const defaults = Object.fromEntries(columns.map(({ id, optional = false }) => [id, !optional]));
  const known = Object.entries(chosen).filter(([id]) => id in defaults);
  const show = useCallback(
    (id: string, isShown: boolean) => {
      const next = { ...chosen, [id]: isShown };
      setChosen(next);
      localStorage.setItem(storageKey(table), JSON.stringify(next));
    },
    [chosen, table],
  );
  const reset = useCallback(() => {
    setChosen({});
    localStorage.removeItem(storageKey(table));
  }, [table]);
  return { visibility: { ...defaults, ...Object.fromEntries(known) }, show, reset };
}

/** Ignores what a browser extension or an older version has stored. */
function readVisibility(text: string | null): Visibility {
  try {
    const stored: unknown = JSON.parse(text ?? "{}");
    if (typeof stored !== "object" || stored === null || Array.isArray(stored)) return {};
    return Object.fromEntries(Object.entries(stored).filter(([, isShown]) => typeof isShown === "boolean"));
  } catch {
    return {};
  }
}

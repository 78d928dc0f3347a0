import {
  type ColumnDef,
  columnPinningFeature,
  columnVisibilityFeature,
  createSortedRowModel,
  rowSortingFeature,
  type SortingState,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { useMemo, useState } from "react";
import { ACTIONS, type Column, compareValues, type Sort, type SortValue } from "./column.ts";
import type { Visibility } from "./column-visibility.ts";

const FEATURES = tableFeatures({
  rowSortingFeature,
  columnVisibilityFeature,
  columnPinningFeature,
  sortedRowModel: createSortedRowModel(),
});

type Input<T> = {
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  readonly visibility: Visibility;
  /** All rows of the list are loaded. */
  readonly isComplete: boolean;
  /** Absent: the table keeps the order itself. */
  readonly sort?: Sort | undefined;
  readonly onSort?: ((sort: Sort) => void) | undefined;
};

/** A table of TanStack Table: order of rows, visible and pinned columns. */
export function useTableModel<T extends object>(input: Input<T>) {
  const { columns, rows, keyOf, visibility, isComplete, sort, onSort } = input;
  const [ownSorting, setOwnSorting] = useState<SortingState>([]);
  const sorting = sort === undefined ? ownSorting : [{ id: sort.by, desc: sort.order === "desc" }];
  // The API sorts where a column says so; the table sorts complete lists only.
  const isManual =
    !isComplete || columns.some(({ sortable, sortValue }) => sortable === true && sortValue === undefined);
  const definitions = useMemo(() => columns.map((column) => definitionOf(column, isComplete)), [columns, isComplete]);
  const data = useMemo(() => [...rows], [rows]);
  return useTable({
    features: FEATURES,
    data,
    columns: definitions,
    getRowId: keyOf,
    state: {
      sorting,
      columnVisibility: visibility,
      columnPinning: { start: columns.slice(0, 1).map(({ id }) => id), end: [ACTIONS] },
    },
    manualSorting: isManual,
    enableMultiSort: false,
    // Without an order by default, a third click restores the order of the API.
    enableSortingRemoval: sort === undefined,
    onSortingChange: (change) => {
      const next = typeof change === "function" ? change(sorting) : change;
      if (sort === undefined) setOwnSorting(next);
      const [first] = next;
      if (first !== undefined) onSort?.({ by: first.id, order: first.desc ? "desc" : "asc" });
    },
  });
}

function definitionOf<T extends object>(column: Column<T>, isComplete: boolean): ColumnDef<typeof FEATURES, T> {
  const { id, sortValue, sortable = false, descendingFirst = false } = column;
  return {
    id,
    accessorFn: (row: T) => sortValue?.(row) ?? undefined,
    enableSorting: sortValue === undefined ? sortable : isComplete,
    sortDescFirst: descendingFirst,
    sortUndefined: "last",
    sortFn: (left, right, by) => compareValues(left.getValue<SortValue>(by), right.getValue<SortValue>(by)),
  };
}

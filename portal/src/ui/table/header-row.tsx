import type { ReactNode } from "react";
import { cx } from "../class-names.ts";
import { Icon } from "../icon.tsx";
import type { Column } from "./column.ts";

export type HeaderCell<T> = {
  readonly column: Column<T>;
  readonly pinned: "start" | "end" | undefined;
  /** Undefined: the column can't be sorted. */
  readonly onSort: (() => void) | undefined;
  readonly order: "asc" | "desc" | undefined;
};

/** Space for the column menu in the last column, so that its values stay below their header. */
export const MENU_SPACE = "md:pr-11!";

/** `menu` is placed at the right edge. */
export function HeaderRow<T>({
  cells,
  menu,
}: {
  readonly cells: readonly HeaderCell<T>[];
  readonly menu: ReactNode | undefined;
}) {
  return (
    <thead role="rowgroup" className="max-md:sr-only">
      <tr role="row" className="border-b">
        {cells.map((cell, index) => (
          <th
            key={cell.column.id}
            role="columnheader"
            scope="col"
            data-pinned={cell.pinned}
            data-figures={cell.column.align === "end" && cell.pinned === undefined ? "" : undefined}
            aria-sort={cell.order === undefined ? undefined : cell.order === "asc" ? "ascending" : "descending"}
            className={cx(
              "h-9 bg-head px-2 text-xs font-semibold whitespace-nowrap text-soft first:pl-4 last:pr-4 lg:px-3",
              cell.column.align === "end" && "text-right",
              cell.pinned === "start" && "md:sticky md:left-0 md:z-2",
              cell.pinned === "end" && "md:sticky md:right-0 md:z-2",
              index === cells.length - 1 && menu !== undefined && cell.pinned !== "end" && MENU_SPACE,
            )}
          >
            {cell.onSort === undefined ? cell.column.header : <SortButton cell={cell} onSort={cell.onSort} />}
          </th>
        ))}
      </tr>
    </thead>
  );
}

function SortButton<T>({ cell, onSort }: { readonly cell: HeaderCell<T>; readonly onSort: () => void }) {
  const { order, column } = cell;
  return (
    <button
      type="button"
      onClick={onSort}
      className={cx(
        "group/sort relative inline-flex h-6 items-center rounded-sm hover:text-ink",
        order !== undefined && "text-ink",
      )}
    >
      {column.header}
      {/* Between two columns, so that values stay aligned with their header. */}
      <Icon
        name={(order ?? (column.descendingFirst === true ? "desc" : "asc")) === "asc" ? "up" : "down"}
        className={cx(
          "absolute left-full ml-0.5 size-3",
          order === undefined && "opacity-0 group-hover/sort:opacity-60 group-focus-visible/sort:opacity-60",
        )}
      />
    </button>
  );
}

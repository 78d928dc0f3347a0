import { type KeyboardEvent, type ReactNode, useRef } from "react";
import { Button } from "./button.tsx";
import { ErrorState } from "./error-state.tsx";
import { Skeleton } from "./skeleton.tsx";
import { BodyRow, OPENS_ROW } from "./table/body-row.tsx";
import { ACTIONS, type Column, type Sort } from "./table/column.ts";
import { ColumnMenu } from "./table/column-menu.tsx";
import { useColumnVisibility } from "./table/column-visibility.ts";
import { type HeaderCell, HeaderRow } from "./table/header-row.tsx";
import { useScrollEdges } from "./table/scroll-edges.ts";
import { useTableModel } from "./table/use-table-model.ts";
import { useVirtualRows } from "./table/virtual-rows.ts";

export type { Column } from "./table/column.ts";
export { useSortParam } from "./table/use-sort-param.ts";

/** The loading state of the rows, as returned by `usePages` and `useManage`. */
export type RowsQuery = {
  readonly isPending: boolean;
  readonly error?: unknown;
  readonly refetch?: () => unknown;
  readonly hasMore?: boolean;
  readonly isLoadingMore?: boolean;
  readonly loadMore?: () => void;
};

type Props<T> = {
  /** The accessible name. */
  readonly label: string;
  /** The chosen columns are kept under this name; default: the label. */
  readonly id?: string | undefined;
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The row's link, placed in the first column. */
  readonly linkOf?: ((row: T) => string) | undefined;
  /** Opens the row, by a button in the first column. */
  readonly onOpen?: ((row: T) => void) | undefined;
  /** The loading state; absent: all rows are loaded. */
  readonly query?: RowsQuery | undefined;
  /** Shown without rows. */
  readonly empty: ReactNode;
  /** Absent: the table keeps its order itself. */
  readonly sort?: Sort | undefined;
  readonly onSort?: ((sort: Sort) => void) | undefined;
};

/** A table with loading, error and empty states; on phones each row is a card. */
export function Table<T extends object>(props: Props<T>) {
  const { rows, query, empty } = props;
  const { isPending, error, refetch } = query ?? { isPending: false };
  if (error !== null && error !== undefined && rows.length === 0)
    return (
      <div className="rounded-lg border bg-card">
        <ErrorState error={error} {...(refetch === undefined ? {} : { onRetry: () => void refetch() })} />
      </div>
    );
  if (!isPending && rows.length === 0) return <div className="rounded-lg border bg-card">{empty}</div>;
  return <LoadedTable {...props} />;
}

/** Fewer columns fit everywhere and need no menu. */
const MENU_COLUMNS_MIN = 4;

function LoadedTable<T extends object>(props: Props<T>) {
  const { label, columns, query } = props;
  const { isPending, hasMore = false, isLoadingMore = false, loadMore } = query ?? { isPending: false };
  const frame = useRef<HTMLDivElement>(null);
  useScrollEdges(frame);
  const { visibility, show, reset } = useColumnVisibility(props.id ?? label, columns);
  const model = useTableModel({ ...props, visibility, isComplete: !hasMore });
  const byId = new Map(columns.map((column) => [column.id, column]));
  const cells = model.getVisibleLeafColumns().flatMap((column): HeaderCell<T>[] => {
    const own = byId.get(column.id);
    const canSort = column.getCanSort();
    return own === undefined
      ? []
      : [
          {
            column: own,
            pinned: column.getIsPinned() || undefined,
            onSort: canSort ? () => column.toggleSorting() : undefined,
            order: (canSort && column.getIsSorted()) || undefined,
          },
        ];
  });
  const choosable = columns.slice(1).filter(({ id }) => id !== ACTIONS);
  const menu =
    choosable.length < MENU_COLUMNS_MIN ? undefined : (
      <ColumnMenu table={label} columns={choosable} {...{ visibility, show, reset }} />
    );
  const sorted = model.getRowModel().rows.map(({ original }) => original);
  return (
    <div className="grid gap-3">
      <div ref={frame} className="relative isolate min-w-0 overflow-hidden rounded-lg border bg-card scroll-edges">
        <div data-scroller="" className="overflow-x-auto">
          {/* Rows are blocks on phones, which removes the implicit table roles, so they are set explicitly. */}
          <table
            role="table"
            aria-label={label}
            aria-busy={isPending}
            className="w-full border-collapse text-left max-md:block"
          >
            <HeaderRow cells={cells} menu={menu} />
            {isPending ? (
              <PlaceholderRows count={cells.length} />
            ) : (
              <BodyRows {...props} rows={sorted} cells={cells} hasMenu={menu !== undefined} />
            )}
          </table>
        </div>
        {menu !== undefined && (
          <div
            data-print="no"
            className="absolute top-0 right-2 z-3 flex h-8.5 items-center bg-linear-to-r from-transparent to-head to-25% pl-2 max-md:hidden"
          >
            {menu}
          </div>
        )}
      </div>
      {hasMore && (
        <Button onClick={loadMore} busy={isLoadingMore} className="justify-self-center">
          Load more
        </Button>
      )}
    </div>
  );
}

function BodyRows<T>({
  rows,
  cells,
  hasMenu,
  keyOf,
  linkOf,
  onOpen,
}: Pick<Props<T>, "rows" | "keyOf" | "linkOf" | "onOpen"> & {
  readonly cells: readonly HeaderCell<T>[];
  readonly hasMenu: boolean;
}) {
  const body = useRef<HTMLTableSectionElement>(null);
  const { items, beforePx, afterPx, measure, scrollTo } = useVirtualRows(rows.length, body);
  const moveFocus = (event: KeyboardEvent<HTMLElement>) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step === undefined || !(event.target instanceof Element) || !event.target.hasAttribute(OPENS_ROW)) return;
    event.preventDefault();
    const next = Number(event.target.closest("tr")?.dataset["index"]) + step;
    if (next < 0 || next >= rows.length) return;
    const opener = () => body.current?.querySelector<HTMLElement>(`tr[data-index="${next}"] [${OPENS_ROW}]`);
    const rendered = opener();
    if (rendered !== null && rendered !== undefined) return rendered.focus();
    scrollTo(next);
    requestAnimationFrame(() => opener()?.focus());
  };
  const rowOf = (index: number, isVirtual: boolean) => {
    const row = rows[index];
    return row === undefined ? null : (
      <BodyRow
        key={keyOf(row)}
        {...{ row, index, cells, hasMenu, linkOf, onOpen }}
        {...(isVirtual ? { measure, rowNumber: index + 2 } : {})}
      />
    );
  };
  return (
    <tbody ref={body} role="rowgroup" onKeyDown={moveFocus} className="max-md:block">
      {items === null ? (
        rows.map((_, index) => rowOf(index, false))
      ) : (
        <>
          <Spacer heightPx={beforePx} />
          {items.map(({ index }) => rowOf(index, true))}
          <Spacer heightPx={afterPx} />
        </>
      )}
    </tbody>
  );
}

/** The height of rows that are not rendered. */
function Spacer({ heightPx }: { readonly heightPx: number }) {
  return heightPx <= 0 ? null : (
    // biome-ignore lint/a11y/noAriaHiddenOnFocusable: a row without a role can't be focused
    <tr aria-hidden="true" className="max-md:block">
      <td style={{ height: heightPx }} className="p-0 max-md:block" />
    </tr>
  );
}

const PLACEHOLDER_ROWS = ["a", "b", "c", "d", "e"] as const;

function PlaceholderRows({ count }: { readonly count: number }) {
  return (
    <tbody role="rowgroup" className="max-md:block">
      {PLACEHOLDER_ROWS.map((row) => (
        <tr key={row} role="row" className="border-b last:border-0">
          <td role="cell" colSpan={count} className="px-4 py-3.5">
            <span className="sr-only">Loading</span>
            <Skeleton className="w-full" />
          </td>
        </tr>
      ))}
    </tbody>
  );
}

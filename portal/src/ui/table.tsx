import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { cx } from "./class-names.ts";
import { ErrorState } from "./error-state.tsx";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";
import { Skeleton } from "./skeleton.tsx";

export type Column<T> = {
  readonly id: string;
  readonly header: ReactNode;
  readonly cell: (row: T) => ReactNode;
  readonly align?: "start" | "end" | undefined;
  /** Makes the header a sort button. The caller sorts the rows; see `sortRows`. */
  readonly sortable?: boolean | undefined;
  /** On phones: the title of the card, or hidden. */
  readonly phone?: "title" | "hide" | undefined;
  readonly className?: string | undefined;
};

export type Sort = { readonly by: string; readonly order: "asc" | "desc" };

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
  readonly columns: readonly Column<T>[];
  readonly rows: readonly T[];
  readonly keyOf: (row: T) => string;
  /** The row's link, placed in the first column. */
  readonly linkOf?: ((row: T) => string) | undefined;
  /** The loading state; absent: all rows are loaded. */
  readonly query?: RowsQuery | undefined;
  /** Shown without rows. */
  readonly empty: ReactNode;
  readonly sort?: Sort | undefined;
  readonly onSort?: ((sort: Sort) => void) | undefined;
};

/** A table with loading, error and empty states; on phones each row is a card. */
export function Table<T>(props: Props<T>) {
  const { label, columns, rows, query, empty } = props;
  const { isPending, error, refetch, hasMore = false, isLoadingMore = false, loadMore } = query ?? { isPending: false };
  if (error !== null && error !== undefined && rows.length === 0)
    return (
      <div className="rounded-lg border bg-card">
        <ErrorState error={error} {...(refetch === undefined ? {} : { onRetry: () => void refetch() })} />
      </div>
    );
  if (!isPending && rows.length === 0) return <div className="rounded-lg border bg-card">{empty}</div>;
  return (
    <div className="grid gap-3">
      <div className="relative overflow-x-auto rounded-lg border scroll-hint">
        {/* Rows are blocks on phones, which removes the implicit table roles, so they are set explicitly. */}
        <table
          role="table"
          aria-label={label}
          aria-busy={isPending}
          className="w-full border-collapse text-left max-md:block"
        >
          <TableHead {...props} />
          <tbody role="rowgroup" className="max-md:block">
            {isPending ? (
              <PlaceholderRows count={columns.length} />
            ) : (
              rows.map((row) => <TableRow key={props.keyOf(row)} row={row} {...props} />)
            )}
          </tbody>
        </table>
      </div>
      {hasMore && (
        <Button onClick={loadMore} busy={isLoadingMore} className="justify-self-center">
          Load more
        </Button>
      )}
    </div>
  );
}

function TableHead<T>({ columns, sort, onSort }: Props<T>) {
  return (
    <thead role="rowgroup" className="max-md:sr-only">
      <tr role="row" className="border-b bg-sunken/60">
        {columns.map((column) => {
          const order = sort?.by === column.id ? sort.order : undefined;
          const isSortable = column.sortable === true && onSort !== undefined;
          return (
            <th
              key={column.id}
              role="columnheader"
              scope="col"
              aria-sort={order === undefined ? undefined : order === "asc" ? "ascending" : "descending"}
              className={cx(
                "h-9 px-2 text-xs font-semibold whitespace-nowrap text-soft first:pl-4 last:pr-4 lg:px-3",
                column.align === "end" && "text-right",
                isPinned(column) &&
                  "md:sticky md:right-0 md:bg-[color-mix(in_srgb,var(--color-sunken)_60%,var(--color-card))]",
              )}
            >
              {isSortable ? (
                <button
                  type="button"
                  onClick={() => onSort({ by: column.id, order: order === "asc" ? "desc" : "asc" })}
                  className={cx(
                    "group/sort relative inline-flex h-6 items-center rounded-sm hover:text-ink",
                    order !== undefined && "text-ink",
                  )}
                >
                  {column.header}
                  {/* Between two columns, so that values stay aligned with their header. */}
                  <Icon
                    name={order === "asc" ? "up" : "down"}
                    className={cx(
                      "absolute left-full ml-0.5 size-3",
                      order === undefined &&
                        "opacity-0 group-hover/sort:opacity-60 group-focus-visible/sort:opacity-60",
                    )}
                  />
                </button>
              ) : (
                column.header
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

function TableRow<T>({ row, columns, linkOf }: Props<T> & { readonly row: T }) {
  return (
    <tr
      role="row"
      className="group relative border-b last:border-0 hover:bg-hover/60 max-md:block max-md:px-4 max-md:py-3"
    >
      {columns.map((column, index) => {
        const content = column.cell(row);
        const isTitle = column.phone === "title" || (index === 0 && columns.every(({ phone }) => phone !== "title"));
        return (
          <td
            key={column.id}
            role="cell"
            className={cx(
              "px-2 py-2.5 align-middle first:pl-4 last:pr-4 max-md:px-0 max-md:py-0.5 max-md:first:pl-0 max-md:last:pr-0 lg:px-3",
              column.align === "end" && "text-right",
              column.phone === "hide" && "max-md:hidden",
              isPinned(column) &&
                "md:sticky md:right-0 md:bg-card md:shadow-[-8px_0_8px_var(--color-card)] md:group-hover:bg-hover md:group-hover:shadow-none",
              isTitle
                ? "max-md:block max-md:pb-1 max-md:text-left"
                : "max-md:flex max-md:items-baseline max-md:justify-between max-md:gap-4 max-md:text-right",
              column.className,
            )}
          >
            {!isTitle && (
              <span aria-hidden="true" className="hidden shrink-0 text-xs text-soft max-md:inline">
                {column.header}
              </span>
            )}
            {index === 0 && linkOf !== undefined ? (
              // The link covers the row; other controls need `relative z-1`.
              <Link
                plain
                to={linkOf(row)}
                className="font-medium text-ink after:absolute after:inset-0 group-hover:underline"
              >
                {content}
              </Link>
            ) : (
              content
            )}
          </td>
        );
      })}
    </tr>
  );
}

/** Row actions stay visible when the table scrolls. */
function isPinned<T>({ id }: Column<T>): boolean {
  return id === "actions";
}

const PLACEHOLDER_ROWS = ["a", "b", "c", "d", "e"] as const;

function PlaceholderRows({ count }: { readonly count: number }) {
  return PLACEHOLDER_ROWS.map((row) => (
    <tr key={row} role="row" className="border-b last:border-0">
      <td role="cell" colSpan={count} className="px-4 py-3.5">
        <span className="sr-only">Loading</span>
        <Skeleton className="w-full" />
      </td>
    </tr>
  ));
}

/** Sorts fully loaded rows; unknown values come last. */
export function sortRows<T>(
  rows: readonly T[],
  sort: Sort,
  sortValueOf: (row: T, by: string) => string | number | null | undefined,
): T[] {
  const sign = sort.order === "asc" ? 1 : -1;
  return rows.toSorted((a, b) => {
    const [left, right] = [sortValueOf(a, sort.by), sortValueOf(b, sort.by)];
    if (left === null || left === undefined) return right === null || right === undefined ? 0 : 1;
    if (right === null || right === undefined) return -1;
    const order =
      typeof left === "number" && typeof right === "number" ? left - right : String(left).localeCompare(String(right));
    return order * sign;
  });
}

/** Parses the query parameter `?sort=-spend`. */
export function sortOf(text: string): Sort {
  return text.startsWith("-") ? { by: text.slice(1), order: "desc" } : { by: text, order: "asc" };
}

export function sortText({ by, order }: Sort): string {
  return order === "desc" ? `-${by}` : by;
}

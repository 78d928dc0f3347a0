import type { MouseEvent, ReactNode } from "react";
import { cx } from "../class-names.ts";
import { Link } from "../link.tsx";
import { type HeaderCell, MENU_SPACE } from "./header-row.tsx";

type Props<T> = {
  readonly row: T;
  readonly index: number;
  readonly cells: readonly HeaderCell<T>[];
  readonly hasMenu: boolean;
  readonly linkOf?: ((row: T) => string) | undefined;
  readonly onOpen?: ((row: T) => void) | undefined;
  /** Measures the height of a virtual row. */
  readonly measure?: ((element: Element | null) => void) | undefined;
  /** The row's number in the whole list, if not all rows are rendered. */
  readonly rowNumber?: number | undefined;
};

/** A row; on phones a card. A click anywhere opens it, if it can be opened. */
export function BodyRow<T>({ row, index, cells, hasMenu, linkOf, onOpen, measure, rowNumber }: Props<T>) {
  const canOpen = linkOf !== undefined || onOpen !== undefined;
  const hasTitle = cells.some(({ column }) => column.phone === "title");
  return (
    <tr
      ref={measure}
      role="row"
      data-index={index}
      aria-rowindex={rowNumber}
      onClick={canOpen ? openRow : undefined}
      onAuxClick={linkOf === undefined ? undefined : openRow}
      className={cx(
        "group relative border-b last:border-0 focus-within:bg-row-hover hover:bg-row-hover max-md:block max-md:px-4 max-md:py-3",
        canOpen && "cursor-pointer",
      )}
    >
      {cells.map(({ column, pinned }, at) => {
        const isTitle = column.phone === "title" || (at === 0 && !hasTitle);
        const content = column.cell(row);
        return (
          <td
            key={column.id}
            role="cell"
            className={cx(
              "px-2 py-2.5 align-middle first:pl-4 last:pr-4 max-md:px-0 max-md:py-0.5 max-md:first:pl-0 max-md:last:pr-0 lg:px-3",
              column.align === "end" && "text-right",
              column.phone === "hide" && "max-md:hidden",
              pinned !== undefined && PINNED,
              pinned === "start" && "md:left-0",
              pinned === "end" && "md:right-0",
              hasMenu && at === cells.length - 1 && pinned !== "end" && MENU_SPACE,
              isTitle ? TITLE : column.phone === "line" ? LINE : LABELLED,
              column.className,
            )}
          >
            {!isTitle && column.phone !== "line" && (
              <span aria-hidden="true" className="hidden shrink-0 text-xs text-soft max-md:inline">
                {column.header}
              </span>
            )}
            {at === 0 ? <Opener {...{ row, linkOf, onOpen }}>{content}</Opener> : content}
          </td>
        );
      })}
    </tr>
  );
}

const PINNED = "md:sticky md:z-1 md:bg-card md:group-focus-within:bg-row-hover md:group-hover:bg-row-hover";
const TITLE = "max-md:block max-md:pb-1 max-md:text-left";
const LINE = "max-md:mr-3 max-md:inline-flex max-md:items-center max-md:text-left max-md:text-xs";
const LABELLED = "max-md:flex max-md:items-baseline max-md:justify-between max-md:gap-4 max-md:text-right";

/** Marks the link or button of the first cell that opens the row. */
export const OPENS_ROW = "data-opens-row";

function Opener<T>({
  row,
  linkOf,
  onOpen,
  children,
}: Pick<Props<T>, "row" | "linkOf" | "onOpen"> & { readonly children: ReactNode }) {
  // Covers the first cell, and the whole card on phones; other controls of a card need `relative z-1`.
  const classes = "font-medium text-ink after:absolute after:inset-0 group-hover:underline";
  const mark = { [OPENS_ROW]: "" };
  if (linkOf !== undefined)
    return (
      <Link plain {...mark} to={linkOf(row)} className={classes}>
        {children}
      </Link>
    );
  if (onOpen === undefined) return children;
  return (
    <button type="button" {...mark} onClick={() => onOpen(row)} className={cx("min-h-6 text-left", classes)}>
      {children}
    </button>
  );
}

const CONTROLS = "a, button, input, select, textarea, label, summary, [role=menuitem], [role=menuitemcheckbox]";

/** Opens the row, unless a control was clicked or text was selected; with a modifier in a new tab. */
function openRow(event: MouseEvent<HTMLElement>): void {
  const { target, currentTarget } = event;
  // React also reports clicks in dialogs and menus of the row, which are elsewhere in the document.
  if (!(target instanceof Element) || !currentTarget.contains(target)) return;
  if (target.closest(`${CONTROLS}, dialog`) !== null || window.getSelection()?.toString() !== "") return;
  const opener = currentTarget.querySelector<HTMLElement>(`[${OPENS_ROW}]`);
  if (opener instanceof HTMLAnchorElement && (event.ctrlKey || event.metaKey || event.button === 1))
    window.open(opener.href, "_blank", "noopener");
  else if (event.button === 0) opener?.click();
}

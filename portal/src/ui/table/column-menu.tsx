import { Icon } from "../icon.tsx";
import { later } from "../later.tsx";
import { type Column, labelOf } from "./column.ts";
import { COLUMNS_BUTTON, type ColumnMenuActions, type ColumnMenuProps } from "./column-menu-props.ts";

const ColumnMenuPopup = later(async () => (await import("./column-menu-popup.tsx")).ColumnMenuPopup, ColumnsButton);

/** Chooses the visible columns: those without the first column and row actions, which stay. */
export function ColumnMenu<T>({ columns, ...rest }: ColumnMenuActions & { readonly columns: readonly Column<T>[] }) {
  return <ColumnMenuPopup {...rest} columns={columns.map((column) => ({ id: column.id, label: labelOf(column) }))} />;
}

function ColumnsButton({ table }: ColumnMenuProps) {
  return (
    <button type="button" aria-disabled="true" aria-label={`Columns of ${table}`} className={COLUMNS_BUTTON}>
      <Icon name="columns" />
    </button>
  );
}

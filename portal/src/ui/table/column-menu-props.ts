import type { Visibility } from "./column-visibility.ts";

export type ColumnMenuActions = {
  readonly table: string;
  readonly visibility: Visibility;
  readonly show: (id: string, isShown: boolean) => void;
  readonly reset: () => void;
};
export type ColumnMenuProps = ColumnMenuActions & {
  readonly columns: readonly { readonly id: string; readonly label: string }[];
};

export const COLUMNS_BUTTON =
  "inline-flex size-7 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink data-popup-open:bg-hover data-popup-open:text-ink";

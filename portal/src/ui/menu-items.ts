import type { ReactNode } from "react";
import type { IconName } from "./icon.tsx";

type ItemBase = {
  readonly label: string;
  readonly icon?: IconName | undefined;
  readonly isCurrent?: boolean | undefined;
  readonly hint?: string | undefined;
};
export type MenuItem =
  | (ItemBase & { readonly to: string })
  | (ItemBase & {
      readonly onSelect: () => void;
      readonly danger?: boolean | undefined;
      readonly disabled?: boolean | undefined;
    });

export type MenuProps = {
  /** The accessible name of the button. */
  readonly label: string;
  readonly items: readonly MenuItem[];
  /** The button content; default: three dots. */
  readonly children?: ReactNode | undefined;
  readonly className?: string | undefined;
  readonly align?: "start" | "end" | undefined;
};

/** The look of a button with three dots. */
export const MENU_BUTTON =
  "inline-flex size-8 items-center justify-center rounded-md text-soft hover:bg-hover hover:text-ink";

import type { ReactNode } from "react";
import { cx } from "./class-names.ts";
import type { ComboboxOption } from "./combobox-options.ts";
import { CONTROL } from "./field.tsx";
import { Icon } from "./icon.tsx";

export type PickerProps<O extends ComboboxOption = ComboboxOption> = {
  /** Undefined while they load. */
  readonly options: readonly O[] | undefined;
  /** The accessible name, where no `Field` surrounds the picker. */
  readonly label?: string | undefined;
  /** Shown while nothing is selected. */
  readonly placeholder?: string | undefined;
  readonly searchPlaceholder?: string | undefined;
  /** Replaces label and description of an option in the list. */
  readonly renderOption?: ((option: O) => ReactNode) | undefined;
  /** Shown below the list. */
  readonly footer?: ReactNode | undefined;
  /** The form can't be submitted without a selection. */
  readonly required?: boolean | undefined;
  readonly disabled?: boolean | undefined;
  readonly className?: string | undefined;
};

export type SingleSelection = { readonly value: string; readonly onChange: (value: string) => void };
export type MultiSelection = {
  readonly value: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
};
export type SinglePickerProps = PickerProps & SingleSelection;
export type MultiPickerProps = PickerProps & MultiSelection;

export const PICKER_BUTTON = cx(CONTROL, "flex h-9 items-center gap-2 text-left data-disabled:bg-sunken");

const NAMED_MAX = 2;

/** What is selected: up to two labels, and how many more there are. */
export function PickerText({
  selected,
  placeholder = "Select",
}: {
  readonly selected: readonly ComboboxOption[];
  readonly placeholder?: string | undefined;
}) {
  const named = selected.slice(0, NAMED_MAX).map(({ label }) => label);
  const more = selected.length - named.length;
  return (
    <>
      <span className="min-w-0 flex-1 truncate">
        {named.length === 0 ? <span className="text-faint">{placeholder}</span> : named.join(", ")}
        {more > 0 && ` +${more}`}
      </span>
      <Icon name="down" className="text-soft" />
    </>
  );
}

/** Label and secondary text, as an option shows them by default. */
export function OptionText({ option: { label, description } }: { readonly option: ComboboxOption }) {
  return (
    <>
      <div className="truncate">{label}</div>
      {description !== undefined && <div className="truncate text-xs text-soft">{description}</div>}
    </>
  );
}

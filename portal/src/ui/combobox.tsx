import { useMemo } from "react";
import { cx } from "./class-names.ts";
import { type ComboboxOption, optionsOf, selectedOption } from "./combobox-options.ts";
import { useFieldIds } from "./field.tsx";
import { later } from "./later.tsx";
import {
  type MultiPickerProps,
  type MultiSelection,
  PICKER_BUTTON,
  type PickerProps,
  PickerText,
  type SinglePickerProps,
  type SingleSelection,
} from "./picker.tsx";

export type { ComboboxOption } from "./combobox-options.ts";

const SinglePicker = later(async () => (await import("./combobox-popup.tsx")).SinglePicker, SingleButton);
const MultiPicker = later(async () => (await import("./combobox-popup.tsx")).MultiPicker, MultiButton);

/** A searchable picker for one of many options. */
export function Combobox<O extends ComboboxOption>({ renderOption, ...props }: PickerProps<O> & SingleSelection) {
  return <SinglePicker {...props} renderOption={useRendering(props.options, renderOption)} />;
}

/** A searchable picker for several of many options. */
export function MultiCombobox<O extends ComboboxOption>({ renderOption, ...props }: PickerProps<O> & MultiSelection) {
  return <MultiPicker {...props} renderOption={useRendering(props.options, renderOption)} />;
}

/** Gives the screen its own option with all of its fields. */
function useRendering<O extends ComboboxOption>(
  options: readonly O[] | undefined,
  renderOption: PickerProps<O>["renderOption"],
): PickerProps["renderOption"] {
  const byValue = useMemo(() => new Map(options?.map((option) => [option.value, option])), [options]);
  if (renderOption === undefined) return undefined;
  return ({ value }) => {
    const option = byValue.get(value);
    return option === undefined ? null : renderOption(option);
  };
}

function SingleButton({ value, ...props }: SinglePickerProps) {
  const selected = selectedOption(props.options ?? [], value);
  return <PickerButton {...props} selected={selected === undefined ? [] : [selected]} />;
}

function MultiButton({ value, ...props }: MultiPickerProps) {
  return <PickerButton {...props} selected={optionsOf(props.options ?? [], value)} />;
}

function PickerButton({
  label,
  placeholder,
  className,
  selected,
}: PickerProps & { readonly selected: readonly ComboboxOption[] }) {
  return (
    <button
      {...useFieldIds()}
      type="button"
      aria-disabled="true"
      {...(label === undefined ? {} : { "aria-label": label })}
      className={cx(PICKER_BUTTON, className)}
    >
      <PickerText selected={selected} placeholder={placeholder} />
    </button>
  );
}

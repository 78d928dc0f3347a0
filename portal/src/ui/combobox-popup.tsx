import { Combobox as Base } from "@base-ui/react/combobox";
import { Fragment, type ReactNode, useDeferredValue, useMemo, useState } from "react";
import { cx } from "./class-names.ts";
import {
  type ComboboxOption,
  groupOptions,
  matchOptions,
  type OptionGroup,
  optionsOf,
  selectedOption,
} from "./combobox-options.ts";
import { useFieldIds } from "./field.tsx";
import { Icon } from "./icon.tsx";
import {
  type MultiPickerProps,
  OptionText,
  PICKER_BUTTON,
  type PickerProps,
  PickerText,
  type SinglePickerProps,
} from "./picker.tsx";
import { POPUP, POSITIONER } from "./popup.ts";

/** The picker itself; `combobox.tsx` loads it. */
export function SinglePicker({ value, onChange, ...props }: SinglePickerProps) {
  const { options = [] } = props;
  const selected = selectedOption(options, value);
  const search = useSearch(options, value);
  return (
    <Base.Root<ComboboxOption>
      {...search.root}
      value={selected ?? null}
      onValueChange={(option) => onChange(option?.value ?? "")}
      required={props.required ?? false}
      disabled={props.disabled ?? false}
    >
      <Trigger {...props} selected={selected === undefined ? [] : [selected]} />
      <Popup {...props} search={search} />
    </Base.Root>
  );
}

export function MultiPicker({ value, onChange, ...props }: MultiPickerProps) {
  const { options = [] } = props;
  const selected = optionsOf(options, value);
  const search = useSearch(options, "");
  return (
    <Base.Root<ComboboxOption, true>
      {...search.root}
      multiple
      value={selected}
      onValueChange={(chosen) => onChange(chosen.map((option) => option.value))}
      required={props.required ?? false}
      disabled={props.disabled ?? false}
    >
      <Trigger {...props} selected={selected} />
      <Popup {...props} search={search}>
        <div className="flex items-center justify-between gap-2 border-t px-2.5 py-1.5 text-xs text-soft">
          <span className="figures">{selected.length} selected</span>
          <button
            type="button"
            onClick={() => onChange([])}
            disabled={selected.length === 0}
            className="min-h-6 rounded-sm px-1.5 hover:bg-hover hover:text-ink disabled:opacity-50"
          >
            Clear
          </button>
        </div>
      </Popup>
    </Base.Root>
  );
}

/** This many options are rendered with the popup; the rest follows without blocking it. */
const RENDERED_FIRST = 60;

type Search = ReturnType<typeof useSearch>;

/** State of the search field, and the options that match it. */
function useSearch(options: readonly ComboboxOption[], selected: string) {
  const [open, setOpen] = useState(false);
  const [query, setQuery] = useState("");
  const isOpenForLong = useDeferredValue(open);
  const matches = useMemo(() => matchOptions(options, query), [options, query]);
  const shown = useMemo(() => {
    if (query !== "" || (open && isOpenForLong)) return matches;
    const selectedAt = matches.findIndex(({ value }) => value === selected);
    return matches.slice(0, Math.max(RENDERED_FIRST, selectedAt + 1));
  }, [matches, query, open, isOpenForLong, selected]);
  const isGrouped = options.some(({ group }) => group !== undefined);
  const items = useMemo(() => (isGrouped ? groupOptions(shown) : shown), [shown, isGrouped]);
  const onOpenChange = (isOpen: boolean) => {
    setOpen(isOpen);
    if (isOpen) setQuery("");
  };
  return {
    query,
    count: matches.length,
    isGrouped,
    root: {
      items,
      filteredItems: items,
      inputValue: query,
      onInputValueChange: setQuery,
      open,
      onOpenChange,
      autoHighlight: true,
      isItemEqualToValue: isSame,
    },
  };
}

function isSame(a: ComboboxOption, b: ComboboxOption): boolean {
  return a.value === b.value;
}

function Trigger({
  label,
  placeholder,
  className,
  selected,
}: PickerProps & { readonly selected: readonly ComboboxOption[] }) {
  return (
    <Base.Trigger
      {...useFieldIds()}
      {...(label === undefined ? {} : { "aria-label": label })}
      className={cx(PICKER_BUTTON, className)}
    >
      <PickerText selected={selected} placeholder={placeholder} />
    </Base.Trigger>
  );
}

function Popup({
  options,
  label,
  searchPlaceholder = "Search",
  renderOption,
  footer,
  search,
  children,
}: PickerProps & { readonly search: Search; readonly children?: ReactNode | undefined }) {
  const item = (option: ComboboxOption) => (
    <Base.Item
      key={option.value}
      value={option}
      disabled={option.disabled ?? false}
      className="grid min-h-8 cursor-pointer grid-cols-[1rem_minmax(0,1fr)] items-center gap-2 rounded-sm px-2 py-1 select-none data-disabled:cursor-not-allowed data-disabled:opacity-50 data-highlighted:bg-accent-soft pointer-coarse:min-h-11"
    >
      <Base.ItemIndicator className="text-accent">
        <Icon name="check" />
      </Base.ItemIndicator>
      <div className="col-start-2 min-w-0">
        {renderOption === undefined ? <OptionText option={option} /> : renderOption(option)}
      </div>
    </Base.Item>
  );
  return (
    <Base.Portal>
      <Base.Positioner align="start" sideOffset={4} className={POSITIONER}>
        <Base.Popup
          aria-label={label ?? searchPlaceholder}
          className={cx(
            POPUP,
            "flex max-h-[min(26rem,var(--available-height))] w-max max-w-[min(36rem,var(--available-width))] min-w-[max(var(--anchor-width),min(18rem,var(--available-width)))] flex-col overflow-hidden",
          )}
        >
          <div className="flex items-center gap-2 border-b px-2.5">
            <Icon name="search" className="text-soft" />
            <Base.Input
              aria-label={searchPlaceholder}
              placeholder={searchPlaceholder}
              className="h-10 min-w-0 flex-1 bg-transparent outline-none pointer-coarse:text-base"
            />
          </div>
          <Base.Status className="sr-only">
            {search.query === "" ? null : search.count === 1 ? "1 result" : `${search.count} results`}
          </Base.Status>
          {options === undefined && <p className="px-3 py-3 text-soft">Loading …</p>}
          <Base.Empty>
            {options !== undefined && (
              <p className="px-3 py-3 break-words text-soft">
                {search.query === "" ? "No options" : `No results for “${search.query}”`}
              </p>
            )}
          </Base.Empty>
          <Base.List className="min-h-0 flex-1 scroll-py-1 overflow-y-auto overscroll-contain p-1 empty:hidden">
            {search.isGrouped
              ? (group: OptionGroup<ComboboxOption>) => <Group key={group.value} group={group} item={item} />
              : item}
          </Base.List>
          {children}
          {footer !== undefined && <div className="border-t px-2.5 py-2 text-xs text-soft">{footer}</div>}
        </Base.Popup>
      </Base.Positioner>
    </Base.Portal>
  );
}

function Group({
  group,
  item,
}: {
  readonly group: OptionGroup<ComboboxOption>;
  readonly item: (option: ComboboxOption) => ReactNode;
}) {
  if (group.value === "") return group.items.map((option) => <Fragment key={option.value}>{item(option)}</Fragment>);
  return (
    <Base.Group items={group.items}>
      <Base.GroupLabel className="label-mark px-2 pt-2 pb-1">{group.value}</Base.GroupLabel>
      <Base.Collection>{item}</Base.Collection>
    </Base.Group>
  );
}

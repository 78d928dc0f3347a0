import { type ReactNode, useId, useState } from "react";
import { type Availability, AvailabilityBadge } from "./availability-badge.tsx";
import { Button } from "./button.tsx";
import { Checkbox, Input } from "./field.tsx";

export type Choice = {
  readonly value: string;
  readonly label: string;
  readonly note?: ReactNode | undefined;
  /** Of models: whether the workspace can call it now. */
  readonly availability?: Availability | undefined;
};

/** A searchable multi-select; initially selected options come first. */
export function ChoiceList({
  label,
  choices,
  value,
  onChange,
  disabled = false,
}: {
  readonly label: string;
  readonly choices: readonly Choice[];
  readonly value: readonly string[];
  readonly onChange: (values: readonly string[]) => void;
  readonly disabled?: boolean | undefined;
}) {
  const id = useId();
  const [searchText, setSearchText] = useState("");
  // The initial selection stays on top, so that the order does not change while selecting.
  const [first] = useState(() => new Set(value));
  const selected = new Set(value);
  const known = new Set(choices.map((one) => one.value));
  const unknown = value.filter((one) => !known.has(one)).map((one) => ({ value: one, label: one, note: "Unknown" }));
  const all: readonly Choice[] = [...unknown, ...choices].toSorted(
    (a, b) => Number(first.has(b.value)) - Number(first.has(a.value)),
  );
  const canFilter = choices.some(({ availability }) => availability !== undefined);
  const [isAvailableOnly, setIsAvailableOnly] = useState(false);
  const shown = all.filter(
    (one) =>
      matches(one, searchText) && (!isAvailableOnly || one.availability?.available === true || selected.has(one.value)),
  );
  const toggle = (one: string, isOn: boolean) =>
    onChange(isOn ? [...value, one] : value.filter((known) => known !== one));
  return (
    <fieldset disabled={disabled} className="grid min-w-0 gap-2">
      <legend className="sr-only">{label}</legend>
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-40 flex-1">
          <Input
            type="search"
            value={searchText}
            onChange={(event) => setSearchText(event.target.value)}
            placeholder="Search"
            aria-label={`Search: ${label}`}
          />
        </div>
        {canFilter && <Checkbox label="Available only" checked={isAvailableOnly} onChange={setIsAvailableOnly} />}
        <span className="text-xs text-soft">
          {value.length} of {all.length} selected
        </span>
        {searchText !== "" && shown.length > 0 && (
          <Button size="small" onClick={() => onChange([...new Set([...value, ...shown.map((one) => one.value)])])}>
            Select these {shown.length}
          </Button>
        )}
        {value.length > 0 && (
          <Button size="small" variant="quiet" onClick={() => onChange([])}>
            Clear
          </Button>
        )}
      </div>
      <div className="max-h-64 overflow-auto rounded-md border bg-card py-1">
        {shown.map((one) => (
          <label
            key={one.value}
            htmlFor={`${id}-${one.value}`}
            className="flex min-h-8 items-center gap-2.5 px-3 hover:bg-hover"
          >
            <input
              id={`${id}-${one.value}`}
              type="checkbox"
              checked={selected.has(one.value)}
              onChange={(event) => toggle(one.value, event.target.checked)}
              className="size-4 shrink-0"
            />
            <span className="min-w-0 flex-1 truncate" title={one.label}>
              {one.label}
            </span>
            {one.note !== undefined && <span className="shrink-0 text-xs text-soft max-sm:hidden">{one.note}</span>}
            {one.availability !== undefined && <AvailabilityBadge of={one.availability} />}
          </label>
        ))}
        {shown.length === 0 && <p className="px-3 py-2 text-soft">No matches for “{searchText}”.</p>}
      </div>
    </fieldset>
  );
}

function matches({ value, label }: Choice, searchText: string): boolean {
  const text = `${value} ${label}`.toLowerCase();
  return searchText
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

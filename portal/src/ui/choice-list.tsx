import { type ReactNode, useId, useState } from "react";
import { Button } from "./button.tsx";
import { Input } from "./field.tsx";

export type Choice = { readonly value: string; readonly label: string; readonly note?: ReactNode | undefined };

/** Many choices with a search over them: chosen ones first, the rest below. Bounded in height. */
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
  const [words, setWords] = useState("");
  // What is chosen when it opens stands first; the order does not jump while one chooses.
  const [first] = useState(() => new Set(value));
  const chosen = new Set(value);
  const known = new Set(choices.map((one) => one.value));
  const gone = value.filter((one) => !known.has(one)).map((one) => ({ value: one, label: one, note: "not known" }));
  const all = [...gone, ...choices].toSorted((a, b) => Number(first.has(b.value)) - Number(first.has(a.value)));
  const shown = all.filter((one) => matches(one, words));
  const toggle = (one: string, isOn: boolean) =>
    onChange(isOn ? [...value, one] : value.filter((known) => known !== one));
  return (
    <fieldset disabled={disabled} className="grid min-w-0 gap-2">
      <legend className="sr-only">{label}</legend>
      <div className="flex flex-wrap items-center gap-2">
        <div className="min-w-40 flex-1">
          <Input
            type="search"
            value={words}
            onChange={(event) => setWords(event.target.value)}
            placeholder="Search"
            aria-label={`Search: ${label}`}
          />
        </div>
        <span className="text-xs text-soft">
          {value.length} of {all.length} chosen
        </span>
        {words !== "" && shown.length > 0 && (
          <Button size="small" onClick={() => onChange([...new Set([...value, ...shown.map((one) => one.value)])])}>
            Choose these {shown.length}
          </Button>
        )}
        {value.length > 0 && (
          <Button size="small" look="quiet" onClick={() => onChange([])}>
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
              checked={chosen.has(one.value)}
              onChange={(event) => toggle(one.value, event.target.checked)}
              className="size-4 shrink-0"
            />
            <span className="min-w-0 flex-1 truncate" title={one.label}>
              {one.label}
            </span>
            {one.note !== undefined && <span className="shrink-0 text-xs text-soft">{one.note}</span>}
          </label>
        ))}
        {shown.length === 0 && <p className="px-3 py-2 text-soft">Nothing matches “{words}”.</p>}
      </div>
    </fieldset>
  );
}

function matches({ value, label }: Choice, words: string): boolean {
  const text = `${value} ${label}`.toLowerCase();
  return words
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word));
}

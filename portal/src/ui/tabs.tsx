import { type KeyboardEvent, type ReactNode, useId } from "react";
import { useSearchParam } from "../url-state.ts";
import { cx } from "./class-names.ts";

export type Tab = { readonly id: string; readonly label: ReactNode; readonly content: () => ReactNode };

/** Tabs with their selection in the URL as `?tab=…`; the first tab is the default. */
export function Tabs({
  tabs,
  label,
  param = "tab",
}: {
  readonly tabs: readonly Tab[];
  readonly label: string;
  readonly param?: string | undefined;
}) {
  const id = useId();
  const [chosen, choose] = useSearchParam(param, tabs[0]?.id ?? "");
  const current = tabs.find((tab) => tab.id === chosen) ?? tabs[0];
  if (current === undefined) return null;
  return (
    <div className="grid gap-5">
      <TabRow
        tabs={tabs}
        label={label}
        chosen={current.id}
        choose={choose}
        idOf={(tab) => `${id}-${tab}`}
        panelId={`${id}-panel`}
      />
      <div id={`${id}-panel`} role="tabpanel" aria-labelledby={`${id}-${current.id}`} className="min-w-0">
        {current.content()}
      </div>
    </div>
  );
}

type RowProps = {
  readonly tabs: readonly Pick<Tab, "id" | "label">[];
  readonly label: string;
  readonly chosen: string;
  readonly choose: (id: string) => void;
  readonly idOf: (id: string) => string;
  readonly panelId: string;
};

/** The tab list alone, with arrow key navigation. */
export function TabRow({ tabs, label, chosen, choose, idOf, panelId }: RowProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const at = tabs.findIndex((tab) => tab.id === chosen);
    const next = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: tabs.length - 1 }[event.key];
    const tab = next === undefined ? undefined : tabs[(next + tabs.length) % tabs.length];
    if (tab === undefined) return;
    event.preventDefault();
    choose(tab.id);
    document.getElementById(idOf(tab.id))?.focus();
  };
  return (
    <div
      role="tablist"
      aria-label={label}
      tabIndex={-1}
      onKeyDown={onKeyDown}
      className="flex gap-5 overflow-x-auto border-b"
    >
      {tabs.map((tab) => {
        const isChosen = tab.id === chosen;
        return (
          <button
            key={tab.id}
            id={idOf(tab.id)}
            type="button"
            role="tab"
            aria-selected={isChosen}
            aria-controls={isChosen ? panelId : undefined}
            tabIndex={isChosen ? 0 : -1}
            onClick={() => choose(tab.id)}
            className={cx(
              "-mb-px h-9 border-b-2 font-medium whitespace-nowrap outline-offset-[-2px]",
              isChosen ? "border-accent text-ink" : "border-transparent text-soft hover:text-ink",
            )}
          >
            {tab.label}
          </button>
        );
      })}
    </div>
  );
}

/** A segmented control. */
export function SegmentedControl({
  label,
  options,
  value,
  onChange,
}: {
  readonly label: string;
  readonly options: readonly { readonly value: string; readonly label: string }[];
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  const name = useId();
  return (
    <fieldset className="inline-flex max-w-full min-w-0 flex-wrap rounded-md border border-line-strong/60 bg-card p-0.5">
      <legend className="sr-only">{label}</legend>
      {options.map((option) => (
        <label key={option.value} className="relative">
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
            className="peer absolute inset-0 cursor-pointer appearance-none"
          />
          <span className="grid h-7.5 place-items-center rounded-sm px-2.5 whitespace-nowrap text-soft peer-checked:bg-accent-soft peer-checked:font-medium peer-checked:text-accent-strong peer-focus-visible:outline-2 peer-focus-visible:outline-focus">
            {option.label}
          </span>
        </label>
      ))}
    </fieldset>
  );
}

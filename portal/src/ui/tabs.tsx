import { Tabs as Base } from "@base-ui/react/tabs";
import { type ReactNode, useId } from "react";
import { useSearchParam } from "../url-state.ts";

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
  const [chosen, choose] = useSearchParam(param, tabs[0]?.id ?? "");
  const current = tabs.find((tab) => tab.id === chosen) ?? tabs[0];
  if (current === undefined) return null;
  return (
    <TabSet tabs={tabs} label={label} chosen={current.id} choose={choose} className="grid gap-5">
      {current.content()}
    </TabSet>
  );
}

type TabSetProps = {
  readonly tabs: readonly Pick<Tab, "id" | "label">[];
  readonly label: string;
  readonly chosen: string;
  readonly choose: (id: string) => void;
  readonly className?: string | undefined;
  readonly panelClassName?: string | undefined;
  /** The content of the selected tab. */
  readonly children: ReactNode;
};

/** Tabs that hold their selection elsewhere than in the URL. */
export function TabSet({ tabs, label, chosen, choose, className, panelClassName, children }: TabSetProps) {
  return (
    <Base.Root value={chosen} onValueChange={(id) => choose(String(id))} className={className}>
      <Base.List activateOnFocus aria-label={label} className="flex gap-5 overflow-x-auto border-b">
        {tabs.map((tab) => (
          <Base.Tab
            key={tab.id}
            value={tab.id}
            className="-mb-px h-9 border-b-2 border-transparent font-medium whitespace-nowrap text-soft outline-offset-[-2px] hover:text-ink data-active:border-accent data-active:text-ink"
          >
            {tab.label}
          </Base.Tab>
        ))}
      </Base.List>
      <Base.Panel value={chosen} className={panelClassName ?? "min-w-0"}>
        {children}
      </Base.Panel>
    </Base.Root>
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

import { useId } from "react";
import { countryName } from "../format/country.ts";
import { Button } from "./button.tsx";
import { cx } from "./class-names.ts";
import { EEA_COUNTRIES, EU_COUNTRIES, type Region, regionsWith } from "./countries.ts";
import { Icon } from "./icon.tsx";

type Props = {
  /** Null: all countries. */
  readonly value: readonly string[] | null;
  readonly onChange: (countries: readonly string[] | null) => void;
  readonly disabled?: boolean | undefined;
  readonly error?: string | undefined;
};

/** All countries or a selection by region, with presets for EU and EEA. */
export function CountryPicker({ value, onChange, disabled = false, error }: Props) {
  const name = useId();
  const selected = new Set(value ?? []);
  const setSelected = (codes: readonly string[], isOn: boolean) => {
    const next = new Set(selected);
    for (const code of codes) isOn ? next.add(code) : next.delete(code);
    onChange([...next].toSorted());
  };
  return (
    <fieldset disabled={disabled} className="grid min-w-0 gap-3">
      <legend className="sr-only">Compute countries</legend>
      <div className="flex flex-wrap items-center gap-x-5 gap-y-2">
        <label className="flex min-h-6 items-center gap-2">
          <input type="radio" name={name} checked={value === null} onChange={() => onChange(null)} className="size-4" />
          All countries
        </label>
        <label className="flex min-h-6 items-center gap-2">
          <input
            type="radio"
            name={name}
            checked={value !== null}
            onChange={() => onChange(value ?? [...EEA_COUNTRIES].toSorted())}
            className="size-4"
          />
          Selected countries
        </label>
      </div>
      {value !== null && (
        <>
          <div className="flex flex-wrap items-center gap-2">
            <Button size="small" onClick={() => onChange([...EU_COUNTRIES].toSorted())}>
              Select EU
            </Button>
            <Button size="small" onClick={() => onChange([...EEA_COUNTRIES].toSorted())}>
              Select EEA
            </Button>
            <Button size="small" variant="quiet" onClick={() => onChange([])}>
              Clear
            </Button>
            <span className="text-xs text-soft">
              {selected.size === 1 ? "1 country" : `${selected.size} countries`}
            </span>
          </div>
          {error !== undefined && (
            <p role="alert" className="flex items-center gap-1 text-xs text-bad">
              <Icon name="warning" className="size-3.5" />
              {error}
            </p>
          )}
          <div className="grid gap-1.5">
            {regionsWith(value).map((region) => (
              <RegionRow key={region.id} region={region} selected={selected} setSelected={setSelected} />
            ))}
          </div>
        </>
      )}
    </fieldset>
  );
}

function RegionRow({
  region,
  selected,
  setSelected,
}: {
  readonly region: Region;
  readonly selected: ReadonlySet<string>;
  readonly setSelected: (codes: readonly string[], isOn: boolean) => void;
}) {
  const on = region.countries.filter((code) => selected.has(code)).length;
  const isAll = on === region.countries.length;
  return (
    <details className="group rounded-md border bg-card">
      <summary className="flex min-h-9 items-center gap-2 px-3 select-none">
        <Icon name="right" className="size-3.5 text-soft transition-transform group-open:rotate-90" />
        <span className="min-w-0 flex-1 truncate">{region.name}</span>
        <span className={cx("figures text-xs", on === 0 ? "text-faint" : "font-medium text-accent-strong")}>
          {on} of {region.countries.length}
        </span>
      </summary>
      <div className="grid gap-2 border-t px-3 py-2.5">
        <Button
          size="small"
          variant="quiet"
          className="justify-self-start"
          onClick={() => setSelected(region.countries, !isAll)}
          aria-label={`${isAll ? "Clear" : "Select all of"} ${region.name}`}
        >
          {isAll ? "Clear all" : "Select all"}
        </Button>
        <div className="grid grid-cols-[repeat(auto-fill,minmax(9.5rem,1fr))] gap-x-3 gap-y-1">
          {region.countries.map((code) => (
            <label key={code} className="flex min-h-6 items-center gap-2">
              <input
                type="checkbox"
                checked={selected.has(code)}
                onChange={(event) => setSelected([code], event.target.checked)}
                className="size-4"
              />
              <span className="min-w-0 truncate">{countryName(code)}</span>
            </label>
          ))}
        </div>
      </div>
    </details>
  );
}

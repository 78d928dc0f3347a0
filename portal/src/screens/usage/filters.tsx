import type { SearchChange } from "../../address.ts";
import { DAY_MS } from "../../format/time.ts";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Toolbar } from "../../ui/layout.tsx";
import { Segments } from "../../ui/tabs.tsx";
import { GROUPS, NO_GROUP, type UsageQuery } from "./asked.ts";
import { METRICS } from "./figures.ts";
import { DAYS_MAX, dateText, RANGE_FIRST, RANGES } from "./period.ts";

type Props = { readonly query: UsageQuery; readonly set: (change: SearchChange) => void };

const BY = [
  { value: "hour", label: "Hour" },
  { value: "day", label: "Day" },
] as const;

const ENVIRONMENTS = [
  { value: "live", label: "Live keys" },
  { value: "test", label: "Test keys" },
  { value: "all", label: "Live and test" },
] as const;

/** What is shown, of when, taken apart by what. */
export function Filters({ query, set }: Props) {
  const { period } = query;
  const rangeTo = (range: string) =>
    set({
      range: range === RANGE_FIRST ? null : range,
      by: null,
      ...(range === "own"
        ? { from: dateText(period.fromMs), to: dateText(period.toMs - 1) }
        : { from: null, to: null }),
    });
  return (
    <Toolbar>
      <Field label="Show" className="w-40">
        <Select
          value={query.metric}
          onChange={(event) => set({ metric: event.target.value === "cost" ? null : event.target.value })}
          options={METRICS.map(({ id, label }) => ({ value: id, label }))}
        />
      </Field>
      <Field label="Compare by" className="w-36">
        <Select
          value={query.group}
          onChange={(event) => set({ group: groupText(event.target.value), pick: null, sort: null })}
          options={GROUPS}
        />
      </Field>
      <Field label="Traffic" className="w-36">
        <Select
          value={query.environment}
          onChange={(event) => set({ env: event.target.value === "live" ? null : event.target.value })}
          options={ENVIRONMENTS}
        />
      </Field>
      <Segments
        label="Period"
        options={RANGES.map(({ value, label }) => ({ value, label }))}
        value={period.range}
        onChange={rangeTo}
      />
      {period.range === "own" && <OwnRange query={query} set={set} />}
      {period.mayBeHourly && (
        <Segments label="Added up by" options={BY} value={period.by} onChange={(by) => set({ by })} />
      )}
      {period.isCut && (
        <p role="status" className="basis-full text-xs text-soft">
          At most {DAYS_MAX} days are shown at once: these are the last of them.
        </p>
      )}
    </Toolbar>
  );
}

function groupText(value: string): string | null {
  if (value === "") return NO_GROUP;
  return value === "key" ? null : value;
}

/** Both days are included. */
function OwnRange({ query, set }: Props) {
  const { fromMs, toMs } = query.period;
  return (
    <>
      <Field label="From" hideLabel className="w-38">
        <Input
          type="date"
          value={dateText(fromMs)}
          max={dateText(toMs - 1)}
          onChange={(event) => event.target.value !== "" && set({ from: event.target.value })}
        />
      </Field>
      <Field label="To" hideLabel className="w-38">
        <Input
          type="date"
          value={dateText(toMs - 1)}
          min={dateText(fromMs)}
          max={dateText(Date.now() + DAY_MS)}
          onChange={(event) => event.target.value !== "" && set({ to: event.target.value })}
        />
      </Field>
    </>
  );
}

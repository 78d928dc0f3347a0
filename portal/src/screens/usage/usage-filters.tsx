import { DAY_MS } from "../../format/time.ts";
import { Field, Input, Select } from "../../ui/field.tsx";
import { Toolbar } from "../../ui/layout.tsx";
import { SegmentedControl } from "../../ui/tabs.tsx";
import type { SearchChange } from "../../url-state.ts";
import { DAYS_MAX, DEFAULT_RANGE, dateText, RANGES } from "./period.ts";
import { DEFAULT_ENVIRONMENT, GROUPS, NO_GROUP, type UsageQuery } from "./usage-query.ts";
import { METRICS } from "./usage-sums.ts";

type Props = { readonly query: UsageQuery; readonly set: (change: SearchChange) => void };

const INTERVALS = [
  { value: "hour", label: "Hour" },
  { value: "day", label: "Day" },
] as const;

const ENVIRONMENTS = [
  { value: "all", label: "Live and test" },
  { value: "live", label: "Live keys" },
  { value: "test", label: "Test keys" },
] as const;

export function UsageFilters({ query, set }: Props) {
  const { period } = query;
  const setRange = (range: string) =>
    set({
      range: range === DEFAULT_RANGE ? null : range,
      by: null,
      ...(range === "custom"
        ? { from: dateText(period.fromMs), to: dateText(period.toMs - 1) }
        : { from: null, to: null }),
    });
  return (
    <Toolbar>
      <Field label="Metric" className="w-40">
        <Select
          value={query.metric}
          onChange={(event) => set({ metric: event.target.value === "cost" ? null : event.target.value })}
          options={METRICS.map(({ id, label }) => ({ value: id, label }))}
        />
      </Field>
      <Field label="Group by" className="w-36">
        <Select
          value={query.group}
          onChange={(event) => set({ group: groupText(event.target.value), pick: null, sort: null })}
          options={GROUPS}
        />
      </Field>
      <Field label="Traffic" className="w-36">
        <Select
          value={query.environment}
          onChange={(event) => set({ env: event.target.value === DEFAULT_ENVIRONMENT ? null : event.target.value })}
          options={ENVIRONMENTS}
        />
      </Field>
      <SegmentedControl
        label="Period"
        options={RANGES.map(({ value, label }) => ({ value, label }))}
        value={period.range}
        onChange={setRange}
      />
      {period.range === "custom" && <CustomRange query={query} set={set} />}
      {period.mayBeHourly && (
        <SegmentedControl label="Interval" options={INTERVALS} value={period.by} onChange={(by) => set({ by })} />
      )}
      {period.isTruncated && (
        <p role="status" className="basis-full text-xs text-soft">
          Only the last {DAYS_MAX} days of this range are shown.
        </p>
      )}
    </Toolbar>
  );
}

function groupText(value: string): string | null {
  if (value === "") return NO_GROUP;
  return value === "key" ? null : value;
}

function CustomRange({ query, set }: Props) {
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

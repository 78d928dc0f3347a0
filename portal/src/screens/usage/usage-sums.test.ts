import { expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../format/time.ts";
import { periodOf, stepsOf } from "./period.ts";
import {
  isAdditive,
  metricValue,
  OTHERS,
  perDayText,
  seriesOf,
  sumUsage,
  totalsOf,
  type UsageRow,
} from "./usage-sums.ts";

const NOW_MS = Date.parse("2026-11-15T09:30:00Z");
const DAY = Date.parse("2026-11-14T00:00:00Z");

const NONE = { latency_ms: null, ttfb_ms: null, tokens_per_second: null };
const row = (name: string | null, startMs: number, cost: string, requests = 1): UsageRow => ({
  ...{ start: new Date(startMs).toISOString(), name, label: name === null ? null : `label of ${name}` },
  ...{ requests, errors: 0, input_tokens: 2, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 3 },
  ...{ reasoning_tokens: 0, characters: 0, seconds: 0, cost },
  ...{ timed_requests: requests, total_ms: requests * 100, streamed_requests: 0, first_byte_ms: 0 },
  ...NONE,
});

const reportOf = (data: readonly UsageRow[]) => ({ data: [...data], group: "key", groups: [], total: NONE });

test("PORTAL-04 totals are exact and sorted, and a step without requests is zero", () => {
  const rows = [row("a", DAY, "0.1"), row("b", DAY, "5.00"), row("a", DAY + DAY_MS, "0.2"), row(null, DAY, "0.00")];
  expect(sumUsage(rows)).toMatchObject({ cost: "5.30", requests: 4, input_tokens: 8, output_tokens: 12 });
  const totals = totalsOf(reportOf(rows), "cost");
  expect(totals.map(({ id, cost, label }) => [id, cost, label])).toEqual([
    ["b", "5.00", "label of b"],
    ["a", "0.30", "label of a"],
    ["", "0.00", "No key"],
  ]);
  const steps = [DAY, DAY + DAY_MS];
  const all = seriesOf(rows, { steps, totals, selected: [], metric: "cost" });
  expect(all.map(({ id, values }) => [id, ...values])).toEqual([
    ["b", 5, 0],
    ["a", 0.1, 0.2],
    ["", 0, 0],
  ]);
  const selected = seriesOf(rows, { steps, totals, selected: ["a"], metric: "requests" });
  expect(selected.map(({ id, values }) => [id, ...values])).toEqual([["a", 1, 1]]);
});

test("LOG-21 percentiles come from the response: of a step in the chart, of the period in the table", () => {
  const latency = (p50: number) => ({ latency_ms: { requests: 3, p50, p95: 2 * p50, p99: 3 * p50 } });
  const rows = [
    { ...row("a", DAY, "0.1", 3), ...latency(100), cached_tokens: 1 },
    { ...row("b", DAY, "0.1", 3), ...latency(900) },
  ];
  const groups = [{ name: "a", label: null, ...NONE, ...latency(120) }];
  const report = { ...reportOf(rows), groups };
  const totals = totalsOf(report, "latency_p95");
  expect(totals.map((one) => [one.id, metricValue(one, "latency_p95"), metricValue(one, "ttfb_p50")])).toEqual([
    ["a", 240, null],
    ["b", null, null],
  ]);
  expect(totals.map((one) => metricValue(one, "cache_share"))).toEqual([0.5, 0]);
  const options = { steps: [DAY, DAY + DAY_MS], totals, selected: ["a"] };
  expect(seriesOf(rows, { ...options, metric: "latency_p99" })[0]?.values).toEqual([300, null]);
  expect(isAdditive("latency_p99")).toBe(false);
});

test("PORTAL-04 the smallest groups are combined into one series", () => {
  const rows = Array.from({ length: 12 }, (_, index) => row(`k${index}`, DAY, String(index + 1)));
  const totals = totalsOf(reportOf(rows), "cost");
  const drawn = seriesOf(rows, { steps: [DAY], totals, selected: [], metric: "cost" });
  expect(drawn).toHaveLength(8);
  expect(drawn.at(-1)).toMatchObject({ id: OTHERS, label: "5 others", values: [1 + 2 + 3 + 4 + 5] });
  expect(drawn.reduce((sum, { values }) => sum + (values[0] ?? 0), 0)).toBe(78);
});

test("PORTAL-04 periods are whole steps, custom ranges include both days, hourly ranges respect the API limit", () => {
  const params = { range: "24h", by: "", from: "", to: "" };
  const day = periodOf(params, NOW_MS);
  expect([day.by, day.toMs - day.fromMs, stepsOf(day).length]).toEqual(["hour", DAY_MS, 24]);
  expect(day.toMs).toBe(Date.parse("2026-11-15T10:00:00Z"));
  const month = periodOf({ ...params, range: "30d" }, NOW_MS);
  expect([month.by, month.fromMs % DAY_MS, stepsOf(month).length]).toEqual(["day", 0, 30]);
  expect(periodOf({ ...params, range: "90d", by: "hour" }, NOW_MS)).toMatchObject({ by: "day", mayBeHourly: false });
  const custom = { range: "custom", by: "", from: "2026-11-03", to: "2026-11-01" };
  expect(periodOf(custom, NOW_MS)).toMatchObject({
    fromMs: Date.parse("2026-11-01T00:00:00Z"),
    toMs: Date.parse("2026-11-04T00:00:00Z"),
  });
  const long = periodOf({ ...custom, from: "2020-01-01", to: "2026-11-01" }, NOW_MS);
  expect([long.isTruncated, (long.toMs - long.fromMs) / DAY_MS]).toEqual([true, 400]);
  // The current day ends with the current hour.
  expect(periodOf({ ...custom, from: "2026-11-15", to: "2026-11-15" }, NOW_MS).toMs).toBe(NOW_MS + HOUR_MS / 2);
  expect(periodOf({ ...params, range: "nonsense", from: "x" }, NOW_MS).range).toBe("30d");
});

test("PORTAL-04 small daily averages have one decimal and never round to zero", () => {
  const params = [8, 2, 0, 300, 298].map((requests) => perDayText(requests, 30));
  expect(params).toEqual(["0.3 per day", "under 0.1 per day", "0 per day", "10 per day", "9.9 per day"]);
  expect(perDayText(7, 0.5)).toBe("7 per day");
});

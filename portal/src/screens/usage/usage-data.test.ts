import { expect, test } from "vitest";
import { DAY_MS, HOUR_MS } from "../../format/time.ts";
import { addUp, OTHERS, perDayText, seriesOf, totalsOf, type UsageRow } from "./figures.ts";
import { periodOf, stepsOf } from "./period.ts";

const NOW_MS = Date.parse("2026-11-15T09:30:00Z");
const DAY = Date.parse("2026-11-14T00:00:00Z");

const row = (name: string | null, startMs: number, cost: string, requests = 1): UsageRow => ({
  ...{ start: new Date(startMs).toISOString(), name, label: name === null ? null : `label of ${name}` },
  ...{ requests, errors: 0, input_tokens: 2, cached_tokens: 0, cache_write_tokens: 0, output_tokens: 3 },
  ...{ reasoning_tokens: 0, characters: 0, seconds: 0, cost },
  ...{ timed_requests: requests, total_ms: requests * 100, streamed_requests: 0, first_byte_ms: 0 },
});

test("PORTAL-04 totals are exact, largest first, and a step without requests is zero", () => {
  const rows = [row("a", DAY, "0.1"), row("b", DAY, "5.00"), row("a", DAY + DAY_MS, "0.2"), row(null, DAY, "0.00")];
  expect(addUp(rows)).toMatchObject({ cost: "5.30", requests: 4, input_tokens: 8, output_tokens: 12 });
  const totals = totalsOf(rows, "key", "cost");
  expect(totals.map(({ id, cost, label }) => [id, cost, label])).toEqual([
    ["b", "5.00", "label of b"],
    ["a", "0.30", "label of a"],
    ["", "0.00", "No key"],
  ]);
  const steps = [DAY, DAY + DAY_MS];
  const all = seriesOf(rows, { steps, totals, picked: [], metric: "cost" });
  expect(all.map(({ id, values }) => [id, ...values])).toEqual([
    ["b", 5, 0],
    ["a", 0.1, 0.2],
    ["", 0, 0],
  ]);
  const picked = seriesOf(rows, { steps, totals, picked: ["a"], metric: "requests" });
  expect(picked.map(({ id, values }) => [id, ...values])).toEqual([["a", 1, 1]]);
});

test("PORTAL-04 times are averages of all that was timed, and what was not timed is a gap and not zero", () => {
  const rows = [row("a", DAY, "0.1", 3), { ...row("a", DAY, "0.1", 1), total_ms: 900 }];
  const totals = totalsOf(rows, "key", "latency");
  const asked = { steps: [DAY, DAY + DAY_MS], totals, picked: [] };
  expect(seriesOf(rows, { ...asked, metric: "latency" })[0]?.values).toEqual([300, null]);
  expect(seriesOf(rows, { ...asked, metric: "first_byte" })[0]?.values).toEqual([null, null]);
});

test("PORTAL-04 of many, the smallest are one line and nothing is lost", () => {
  const rows = Array.from({ length: 12 }, (_, index) => row(`k${index}`, DAY, String(index + 1)));
  const totals = totalsOf(rows, "key", "cost");
  const drawn = seriesOf(rows, { steps: [DAY], totals, picked: [], metric: "cost" });
  expect(drawn).toHaveLength(8);
  expect(drawn.at(-1)).toMatchObject({ id: OTHERS, label: "5 others", values: [1 + 2 + 3 + 4 + 5] });
  expect(drawn.reduce((sum, { values }) => sum + (values[0] ?? 0), 0)).toBe(78);
});

test("PORTAL-04 the time in the address is whole steps, own ranges include both days, hours stay within what is answered", () => {
  const said = { range: "24h", by: "", from: "", to: "" };
  const day = periodOf(said, NOW_MS);
  expect([day.by, day.toMs - day.fromMs, stepsOf(day).length]).toEqual(["hour", DAY_MS, 24]);
  expect(day.toMs).toBe(Date.parse("2026-11-15T10:00:00Z"));
  const month = periodOf({ ...said, range: "30d" }, NOW_MS);
  expect([month.by, month.fromMs % DAY_MS, stepsOf(month).length]).toEqual(["day", 0, 31]);
  expect(periodOf({ ...said, range: "90d", by: "hour" }, NOW_MS)).toMatchObject({ by: "day", mayBeHourly: false });
  const own = { range: "own", by: "", from: "2026-11-03", to: "2026-11-01" };
  expect(periodOf(own, NOW_MS)).toMatchObject({
    fromMs: Date.parse("2026-11-01T00:00:00Z"),
    toMs: Date.parse("2026-11-04T00:00:00Z"),
  });
  const long = periodOf({ ...own, from: "2020-01-01", to: "2026-11-01" }, NOW_MS);
  expect([long.isCut, (long.toMs - long.fromMs) / DAY_MS]).toEqual([true, 400]);
  // A day that is not over ends with the hour that runs.
  expect(periodOf({ ...own, from: "2026-11-15", to: "2026-11-15" }, NOW_MS).toMs).toBe(NOW_MS + HOUR_MS / 2);
  expect(periodOf({ ...said, range: "nonsense", from: "x" }, NOW_MS).range).toBe("30d");
});

test("PORTAL-04 few requests a day are told with a tenth, and some are never none", () => {
  const said = [8, 2, 0, 300, 298].map((requests) => perDayText(requests, 30));
  expect(said).toEqual(["0.3 a day", "under 0.1 a day", "0 a day", "10 a day", "9.9 a day"]);
  expect(perDayText(7, 0.5)).toBe("7 a day");
});

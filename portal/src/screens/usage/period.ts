import { DAY_MS, HOUR_MS } from "../../format/time.ts";

/** Period presets with their default interval. */
export const RANGES = [
  { value: "24h", label: "24 h", lengthMs: DAY_MS, by: "hour" },
  { value: "7d", label: "7 days", lengthMs: 7 * DAY_MS, by: "hour" },
  { value: "30d", label: "30 days", lengthMs: 30 * DAY_MS, by: "day" },
  { value: "90d", label: "90 days", lengthMs: 90 * DAY_MS, by: "day" },
  { value: "custom", label: "Custom", lengthMs: 0, by: "day" },
] as const;

export const DEFAULT_RANGE = "30d";
export const DEFAULT_DAYS = 30;

/** API limits per interval. */
const HOURS_MAX_MS = 31 * DAY_MS;
export const DAYS_MAX = 400;

type Interval = "hour" | "day";

export type Period = {
  readonly range: string;
  readonly by: Interval;
  readonly fromMs: number;
  /** Exclusive; the end of the current hour for periods that end now. */
  readonly toMs: number;
  readonly mayBeHourly: boolean;
  /** The start was moved because the range exceeds the API limit. */
  readonly isTruncated: boolean;
};

type PeriodParams = { readonly range: string; readonly by: string; readonly from: string; readonly to: string };

/**
 * Rounded to whole UTC hours or days, so that the same URL gives the same query for a while. A preset of days has exactly that
 * many UTC days, the current one included.
 */
export function periodOf({ range, by, from, to }: PeriodParams, nowMs: number): Period {
  const preset = RANGES.find(({ value }) => value === range) ?? RANGES[2];
  const endMs = Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS;
  const custom = preset.value === "custom" ? customRange(from, to, endMs) : undefined;
  const toMs = custom?.toMs ?? endMs;
  const requestedMs = custom?.fromMs ?? startOf(preset, by, endMs);
  const rawMs = Math.max(requestedMs, toMs - DAYS_MAX * DAY_MS);
  const mayBeHourly = toMs - rawMs <= HOURS_MAX_MS;
  const step: Interval = mayBeHourly && (by === "hour" || (by === "" && preset.by === "hour")) ? "hour" : "day";
  const stepMs = step === "hour" ? HOUR_MS : DAY_MS;
  const fromMs = Math.floor(rawMs / stepMs) * stepMs;
  return { range: preset.value, by: step, fromMs, toMs, mayBeHourly, isTruncated: rawMs > requestedMs };
}

/** Whole days are counted from the start of the current day, hours back from the end of the current hour. */
function startOf(preset: (typeof RANGES)[number], by: string, endMs: number): number {
  const startMs = endMs - preset.lengthMs;
  return preset.by === "day" || by === "day" ? Math.ceil(startMs / DAY_MS) * DAY_MS : startMs;
}

/** The default period of Home and Usage. */
export function defaultPeriod(nowMs: number): Period {
  return periodOf({ range: DEFAULT_RANGE, by: "", from: "", to: "" }, nowMs);
}

const dayMs = (text: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN);

/** Both days are included; swapped if reversed. */
function customRange(from: string, to: string, endMs: number) {
  const [a, b] = [dayMs(from), dayMs(to)];
  const lastMs = Number.isNaN(b) ? Math.floor((endMs - 1) / DAY_MS) * DAY_MS : b;
  const firstMs = Number.isNaN(a) ? lastMs - 6 * DAY_MS : a;
  const [fromMs, untilMs] = firstMs <= lastMs ? [firstMs, lastMs] : [lastMs, firstMs];
  return { fromMs, toMs: Math.max(fromMs + HOUR_MS, Math.min(untilMs + DAY_MS, endMs)) };
}

/** The start of each interval. */
export function stepsOf({ by, fromMs, toMs }: Pick<Period, "by" | "fromMs" | "toMs">): number[] {
  const stepMs = by === "hour" ? HOUR_MS : DAY_MS;
  const steps: number[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) steps.push(atMs);
  return steps;
}

/** Days are in UTC; hours are in the reader's time zone. */
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const HOUR = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function stepText(by: Interval, isOneDay: boolean): (atMs: number | string) => string {
  if (by === "day") return (atMs) => DAY.format(Number(atMs));
  return isOneDay ? (atMs) => CLOCK.format(Number(atMs)) : (atMs) => HOUR.format(Number(atMs));
}

export function dateText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

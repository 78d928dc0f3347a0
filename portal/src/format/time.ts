export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const EXACT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
const SHORT = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const DAY = new Intl.DateTimeFormat(undefined, { dateStyle: "medium" });
const RELATIVE = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });

const STEPS: readonly (readonly [Intl.RelativeTimeFormatUnit, number])[] = [
  ["year", 365 * DAY_MS],
  ["month", 30 * DAY_MS],
  ["day", DAY_MS],
  ["hour", HOUR_MS],
  ["minute", MINUTE_MS],
  ["second", 1000],
];

/** "3 minutes ago", "in 2 days", in the reader's locale. */
export function relativeText(atMs: number, nowMs: number): string {
  const distanceMs = atMs - nowMs;
  const [unit, lengthMs] = STEPS.find(([, lengthMs]) => Math.abs(distanceMs) >= lengthMs) ?? ["second", 1000];
  return RELATIVE.format(Math.trunc(distanceMs / lengthMs), unit);
}

/** With seconds, in the reader's time zone. */
export function exactText(atMs: number): string {
  return EXACT.format(atMs);
}

export function shortText(atMs: number): string {
  return SHORT.format(atMs);
}

export function dayText(atMs: number): string {
  return DAY.format(atMs);
}

/** "820 ms", "1.4 s", "3 min 20 s". */
export function durationText(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1000).toLocaleString(undefined, { maximumFractionDigits: 1 })} s`;
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60
    ? `${minutes} min ${Math.round((ms % 60_000) / 1000)} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

const SPAN_UNITS: Readonly<Record<string, string>> = { s: "second", m: "minute", h: "hour", d: "day" };

/** "30d" as "30 days". */
export function spanText(span: string): string {
  const [, count = "", unit = ""] = /^(\d+)([smhd])$/.exec(span) ?? [];
  const unitName = SPAN_UNITS[unit];
  if (unitName === undefined) return span;
  return `${count} ${unitName}${count === "1" ? "" : "s"}`;
}

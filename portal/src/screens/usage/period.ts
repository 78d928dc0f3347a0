import { DAY_MS, HOUR_MS } from "../../format/time.ts";

/** How much of the past is shown, and what it is added up by unless the reader says so. */
export const RANGES = [
  { value: "24h", label: "24 h", lengthMs: DAY_MS, by: "hour" },
  { value: "7d", label: "7 days", lengthMs: 7 * DAY_MS, by: "hour" },
  { value: "30d", label: "30 days", lengthMs: 30 * DAY_MS, by: "day" },
  { value: "90d", label: "90 days", lengthMs: 90 * DAY_MS, by: "day" },
  { value: "own", label: "Own", lengthMs: 0, by: "day" },
] as const;

export const RANGE_FIRST = "30d";

/** The API answers at most so much by hour, and so much by day. */
const HOURS_MAX_MS = 31 * DAY_MS;
export const DAYS_MAX = 400;

type By = "hour" | "day";

export type Period = {
  readonly range: string;
  readonly by: By;
  readonly fromMs: number;
  /** Before this moment; the present one when it is not over. */
  readonly toMs: number;
  readonly mayBeHourly: boolean;
  /** It begins later than was asked for, because it would be too long. */
  readonly isCut: boolean;
};

type Said = { readonly range: string; readonly by: string; readonly from: string; readonly to: string };

/** The time in the address. Whole hours and whole days of UTC, so that the same address asks the same question for a while. */
export function periodOf({ range, by, from, to }: Said, nowMs: number): Period {
  const preset = RANGES.find(({ value }) => value === range) ?? RANGES[2];
  const endMs = Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS;
  const own = preset.value === "own" ? ownRange(from, to, endMs) : undefined;
  const toMs = own?.toMs ?? endMs;
  const askedMs = own?.fromMs ?? endMs - preset.lengthMs;
  const rawMs = Math.max(askedMs, toMs - DAYS_MAX * DAY_MS);
  const mayBeHourly = toMs - rawMs <= HOURS_MAX_MS;
  const step: By = mayBeHourly && (by === "hour" || (by === "" && preset.by === "hour")) ? "hour" : "day";
  const stepMs = step === "hour" ? HOUR_MS : DAY_MS;
  const fromMs = Math.floor(rawMs / stepMs) * stepMs;
  return { range: preset.value, by: step, fromMs, toMs, mayBeHourly, isCut: rawMs > askedMs };
}

const dayMs = (text: string) => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00Z`) : Number.NaN);

/** Both days are included. Turned around when they stand the wrong way round. */
function ownRange(from: string, to: string, endMs: number) {
  const [a, b] = [dayMs(from), dayMs(to)];
  const lastMs = Number.isNaN(b) ? Math.floor((endMs - 1) / DAY_MS) * DAY_MS : b;
  const firstMs = Number.isNaN(a) ? lastMs - 6 * DAY_MS : a;
  const [fromMs, untilMs] = firstMs <= lastMs ? [firstMs, lastMs] : [lastMs, firstMs];
  return { fromMs, toMs: Math.max(fromMs + HOUR_MS, Math.min(untilMs + DAY_MS, endMs)) };
}

/** When each hour or day begins. */
export function stepsOf({ by, fromMs, toMs }: Pick<Period, "by" | "fromMs" | "toMs">): number[] {
  const stepMs = by === "hour" ? HOUR_MS : DAY_MS;
  const steps: number[] = [];
  for (let atMs = fromMs; atMs < toMs; atMs += stepMs) steps.push(atMs);
  return steps;
}

/** Days are days of UTC and are named so; hours are said in the reader's zone. */
const DAY = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", timeZone: "UTC" });
const HOUR = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit" });
const CLOCK = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });

export function stepText(by: By, isOneDay: boolean): (atMs: number | string) => string {
  if (by === "day") return (atMs) => DAY.format(Number(atMs));
  return isOneDay ? (atMs) => CLOCK.format(Number(atMs)) : (atMs) => HOUR.format(Number(atMs));
}

/** The value of a date field. */
export function dateText(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 10);
}

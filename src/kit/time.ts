export const MINUTE_MS = 60_000;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

const UNIT_MS: Readonly<Record<string, number>> = { s: 1_000, m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };

/** "2s", "5m", "12h" or "7d" in milliseconds; undefined when it is none of these. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^(\d{1,9})([smhd])$/.exec(text);
  const unitMs = UNIT_MS[match?.[2] ?? ""];
  return unitMs === undefined ? undefined : Number(match?.[1]) * unitMs;
}

/** In the largest unit that represents it exactly. */
export function formatDuration(ms: number): string {
  for (const unit of ["d", "h", "m"]) {
    const unitMs = UNIT_MS[unit] ?? 1;
    if (ms >= unitMs && ms % unitMs === 0) return `${ms / unitMs}${unit}`;
  }
  return `${Math.round(ms / 1000)}s`;
}

const ISO_PATTERN = /^(\d{4})-(\d{2})-(\d{2})(?:T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})?)?$/;

/** An ISO 8601 date or time in milliseconds since the epoch; without a zone it is UTC. */
export function parseIsoTimeMs(text: string): number | undefined {
  const match = ISO_PATTERN.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, zone] = match;
  // `Date.parse` would turn 31 February into March.
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  if (date.getUTCMonth() !== Number(month) - 1 || date.getUTCDate() !== Number(day)) return undefined;
  const ms = Date.parse(text.includes("T") && zone === undefined ? `${text}Z` : text);
  return Number.isFinite(ms) ? ms : undefined;
}

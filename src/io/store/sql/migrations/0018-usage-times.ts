import type { Ddl } from "../engine.ts";

const TIMES = ["timed", "total_ms", "streamed", "first_byte_ms"] as const;

/** Roll-ups say how long requests took: how many were timed, and their sums. Of requests before this, nothing is known. */
export function usageTimes({ integer }: Ddl): string[] {
  return ["requests_daily", "requests_hourly"].flatMap((table) =>
    TIMES.map((name) => `alter table ${table} add column ${name} ${integer} not null default 0`),
  );
}

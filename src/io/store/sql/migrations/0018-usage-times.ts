import type { Ddl } from "../engine.ts";

const TIMES = ["timed", "total_ms", "streamed", "first_byte_ms"] as const;

/** Latency sums in roll-ups; zero for earlier requests. */
export function usageTimes({ integer }: Ddl): string[] {
  return ["requests_daily", "requests_hourly"].flatMap((table) =>
    TIMES.map((name) => `alter table ${table} add column ${name} ${integer} not null default 0`),
  );
}

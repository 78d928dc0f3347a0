import type { Ddl } from "../engine.ts";

/**
 * Latency distributions in hourly roll-ups, and level and country in shapes. Nothing is backfilled: earlier hours have no
 * distributions, and earlier shapes may have had several levels, which their roll-ups cannot tell apart.
 */
export function sketches({ text, bytes }: Ddl): string[] {
  return [
    `alter table requests_hourly add column sketches ${bytes}`,
    `alter table request_shapes add column level ${text} not null default ''`,
    `alter table request_shapes add column country ${text} not null default ''`,
  ];
}

import type { Ddl } from "../engine.ts";

/**
 * What evidence reports distinguish, in shapes, so that reports are aggregated from hourly roll-ups. A shape without endpoint
 * is from before: its hours are read from the log. Nothing is backfilled.
 */
export function evidenceShapes({ text }: Ddl): string[] {
  return [
    `alter table request_shapes add column endpoint ${text}`,
    `alter table request_shapes add column error_code ${text} not null default ''`,
    `alter table request_shapes add column router ${text} not null default ''`,
  ];
}

import type { Ddl } from "../engine.ts";

/** Data classes of requests, and what was done to them, by which the log is filtered and usage and evidence are aggregated. */
export function dataClassShapes({ text }: Ddl): string[] {
  return [
    `alter table request_shapes add column data_classes ${text} not null default ''`,
    `alter table request_shapes add column data_action ${text} not null default ''`,
  ];
}

import type { Ddl } from "../engine.ts";

/**
 * Adds the surface to shapes. An existing shape gets the surface of all its requests; one with several surfaces stays empty,
 * because its roll-ups outlive the requests and cannot be split.
 */
export function logSurfaces({ text, fromJson }: Ddl): string[] {
  const surface = fromJson("request_records.record", ["surface"]);
  return [
    `alter table request_shapes add column surface ${text} not null default ''`,
    `update request_shapes set surface = coalesce((
      select case when min(${surface}) = max(${surface}) then min(${surface}) end from request_records
      where request_records.workspace_id = request_shapes.workspace_id and request_records.shape = request_shapes.id
    ), '')`,
  ];
}

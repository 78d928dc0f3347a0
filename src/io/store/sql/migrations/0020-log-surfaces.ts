import type { Ddl } from "../engine.ts";

/**
 * Requests are found by surface. A shape from before gets the surface that all of its requests came on; one that was
 * used on several stays without, because roll-ups that outlive their requests hang on it and cannot be split.
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

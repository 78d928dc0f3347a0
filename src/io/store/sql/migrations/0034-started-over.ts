import type { Ddl } from "../engine.ts";

/** People: the time of the last credential reset. */
export function startedOver({ integer }: Ddl): string[] {
  return [`alter table people add column started_over_at_ms ${integer}`];
}

import type { Ddl } from "../engine.ts";

/** Of people: what began before is undone. */
export function startedOver({ integer }: Ddl): string[] {
  return [`alter table people add column started_over_at_ms ${integer}`];
}

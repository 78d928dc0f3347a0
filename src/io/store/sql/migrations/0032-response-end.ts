import type { Ddl } from "../engine.ts";

/** Of background work: the run that has taken its end upon itself. */
export function responseEnd({ integer }: Ddl): string[] {
  return [`alter table stored_responses add column ending ${integer} not null default 0`];
}

import type { Ddl } from "../engine.ts";

/** Background responses: the run that claimed the end. */
export function responseEnd({ integer }: Ddl): string[] {
  return [`alter table stored_responses add column ending ${integer} not null default 0`];
}

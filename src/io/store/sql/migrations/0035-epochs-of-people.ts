import type { Ddl } from "../engine.ts";

/** Of people: calls of signing in that began before this one of the epochs write nothing for them. */
export function epochsOfPeople({ integer }: Ddl): string[] {
  return [`alter table people add column epoch ${integer} not null default 0`];
}

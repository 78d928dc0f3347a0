import type { Ddl } from "../engine.ts";

/** People: sign-in calls that began before the current epoch may not write. */
export function epochsOfPeople({ integer }: Ddl): string[] {
  return [`alter table people add column epoch ${integer} not null default 0`];
}

import type { Ddl } from "../engine.ts";

/** Invitations: the spend limits that the member gets on joining. */
export function invitationLimits({ integer }: Ddl): string[] {
  return [
    `alter table people_links add column day_nanos ${integer}`,
    `alter table people_links add column month_nanos ${integer}`,
  ];
}

import type { Ddl } from "../engine.ts";

/** The days that `gateway doctor` has found to be in order, with the sums of their roll-ups at that time. */
export function auditedDays({ integer, text, keyedTable }: Ddl): string[] {
  return [
    `create table audited_days (
      workspace_id ${text} not null,
      day ${text} not null,
      requests ${integer} not null,
      cost_nanos ${integer} not null,
      other_sums ${integer} not null,
      primary key (workspace_id, day)
    ) ${keyedTable}`,
  ];
}

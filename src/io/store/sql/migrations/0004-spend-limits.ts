import type { Ddl } from "../engine.ts";

/** Daily and monthly spend limits of workspaces, members and keys. */
export function spendLimits({ integer, text, keyedTable }: Ddl): string[] {
  return [
    `create table spend_limits (
      workspace_id ${text} not null references workspaces (id),
      spender ${text} not null,
      spender_id ${text} not null,
      day_nanos ${integer},
      month_nanos ${integer},
      primary key (workspace_id, spender, spender_id),
      check (day_nanos >= 0),
      check (month_nanos >= 0)
    ) ${keyedTable}`,
  ];
}

import type { Ddl } from "../engine.ts";

/** Exchange rate history, and margins of individual workspaces. */
export function rates({ integer, text, keyedTable, plainTable, appendOnly }: Ddl): string[] {
  return [
    `create table exchange_rates (
      id ${text} not null primary key,
      code ${text} not null,
      per_eur ${text} not null,
      day ${text} not null,
      source ${text} not null,
      recorded_at_ms ${integer} not null
    ) ${plainTable}`,
    "create index exchange_rates_by_day on exchange_rates (code, day, recorded_at_ms, id)",
    "create index exchange_rates_by_time on exchange_rates (recorded_at_ms, id)",
    ...appendOnly("exchange_rates"),
    `create table workspace_margins (
      workspace_id ${text} not null primary key references workspaces (id),
      share ${text} not null
    ) ${keyedTable}`,
  ];
}

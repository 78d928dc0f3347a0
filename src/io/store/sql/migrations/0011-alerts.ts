import type { Ddl } from "../engine.ts";

/** Alert rules, fired alerts and the delivery queue. */
export function alerts({ integer, text, bytes, keyedTable, plainTable }: Ddl): string[] {
  return [
    `create table alert_rules (
      workspace_id ${text} not null primary key references workspaces (id),
      low_balance_nanos ${integer} check (low_balance_nanos > 0),
      limit_percents ${text} not null,
      credential_refused ${integer} not null,
      mail_to ${text},
      webhook_url ${text},
      webhook_secret ${bytes},
      secret_changed_at_ms ${integer},
      changed_at_ms ${integer} not null,
      check ((webhook_url is null) = (webhook_secret is null)),
      check ((webhook_url is null) = (secret_changed_at_ms is null))
    ) ${plainTable}`,
    `create table alerts_standing (
      workspace_id ${text} not null references workspaces (id),
      subject ${text} not null,
      mark ${text} not null,
      alert_id ${text} not null,
      told_at_ms ${integer} not null,
      primary key (workspace_id, subject)
    ) ${keyedTable}`,
    `create table alert_deliveries (
      id ${text} not null primary key,
      alert_id ${text} not null,
      workspace_id ${text} not null references workspaces (id),
      kind ${text} not null,
      channel ${text} not null,
      target ${text} not null,
      payload ${text} not null,
      created_at_ms ${integer} not null,
      state ${text} not null,
      attempts ${integer} not null,
      at_ms ${integer} not null,
      last_error ${text}
    ) ${plainTable}`,
    "create index alert_deliveries_by_state on alert_deliveries (state, at_ms)",
    "create index alert_deliveries_by_time on alert_deliveries (workspace_id, created_at_ms, id)",
  ];
}

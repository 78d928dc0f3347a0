import type { Ddl } from "../engine.ts";

/** The outbox of the log export. */
export function logOutbox({ integer, text, plainTable }: Ddl): string[] {
  return [
    `create table log_outbox (
      target ${text} not null,
      request_id ${text} not null,
      queued_at_ms ${integer} not null,
      record ${text} not null,
      primary key (target, request_id)
    ) ${plainTable}`,
    "create index log_outbox_by_time on log_outbox (target, queued_at_ms, request_id)",
  ];
}

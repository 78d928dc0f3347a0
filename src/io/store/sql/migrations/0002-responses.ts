import type { Ddl } from "../engine.ts";

/** Data encryption keys of workspaces, and stored responses. */
export function responses({ integer, text, bytes, keyedTable, plainTable }: Ddl): string[] {
  return [
    `create table data_keys (
      workspace_id ${text} not null primary key,
      wrapped ${bytes} not null
    ) ${keyedTable}`,
    `create table stored_responses (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      key_id ${text} not null,
      created_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      status ${text} not null,
      model ${text} not null,
      previous_id ${text},
      background ${text} not null,
      runs ${integer} not null,
      response ${bytes} not null,
      input ${bytes} not null,
      request ${bytes}
    ) ${plainTable}`,
    "create index stored_responses_by_time on stored_responses (workspace_id, created_at_ms, id)",
    "create index stored_responses_by_expiry on stored_responses (expires_at_ms)",
    `create index stored_responses_unfinished on stored_responses (created_at_ms)
      where status in ('queued', 'in_progress')`,
    // Callers refer to an item of an earlier response by its id alone.
    `create table stored_items (
      workspace_id ${text} not null,
      id ${text} not null,
      response_id ${text} not null references stored_responses (id) on delete cascade,
      primary key (workspace_id, id, response_id)
    ) ${keyedTable}`,
    "create index stored_items_by_response on stored_items (response_id)",
    `create table stored_events (
      response_id ${text} not null references stored_responses (id) on delete cascade,
      first_number ${integer} not null,
      last_number ${integer} not null,
      events ${bytes} not null,
      primary key (response_id, first_number)
    ) ${plainTable}`,
  ];
}

import type { Ddl } from "../engine.ts";

/** Uploaded files, batches of requests, and the outcome of every line. */
export function batches({ integer, text, bytes, keyedTable, plainTable }: Ddl): string[] {
  return [
    `create table stored_files (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      key_id ${text} not null,
      created_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      purpose ${text} not null,
      content ${text} not null,
      batch_id ${text},
      complete ${integer} not null,
      bytes ${integer} not null,
      filename ${bytes} not null
    ) ${plainTable}`,
    "create index stored_files_by_time on stored_files (workspace_id, created_at_ms, id)",
    "create index stored_files_by_expiry on stored_files (expires_at_ms)",
    `create table file_chunks (
      file_id ${text} not null references stored_files (id) on delete cascade,
      number ${integer} not null,
      content ${bytes} not null,
      primary key (file_id, number)
    ) ${plainTable}`,
    `create table batches (
      id ${text} not null primary key,
      workspace_id ${text} not null,
      key_id ${text} not null,
      shape ${text} not null,
      endpoint ${text} not null,
      input_file_id ${text} not null,
      status ${text} not null,
      created_at_ms ${integer} not null,
      expires_at_ms ${integer} not null,
      keep_until_ms ${integer} not null,
      total ${integer} not null,
      stop ${text},
      pause ${text},
      times ${text} not null,
      output_file_id ${text},
      error_file_id ${text},
      origin ${bytes} not null,
      errors ${bytes},
      lease_owner ${text} not null,
      lease_until_ms ${integer} not null
    ) ${plainTable}`,
    "create index batches_by_time on batches (workspace_id, created_at_ms, id)",
    "create index batches_by_expiry on batches (keep_until_ms)",
    `create index batches_unfinished on batches (created_at_ms)
      where status in ('validating', 'in_progress', 'finalizing', 'cancelling')`,
    `create table batch_parts (
      batch_id ${text} not null references batches (id) on delete cascade,
      number ${integer} not null,
      first_line ${integer} not null,
      lines ${integer} not null,
      done ${integer} not null,
      runs ${integer} not null,
      lease_owner ${text} not null,
      lease_until_ms ${integer} not null,
      succeeded ${integer} not null,
      errored ${integer} not null,
      cancelled ${integer} not null,
      expired ${integer} not null,
      cost_nanos ${integer} not null,
      input_tokens ${integer} not null,
      output_tokens ${integer} not null,
      cached_tokens ${integer} not null,
      reasoning_tokens ${integer} not null,
      primary key (batch_id, number)
    ) ${keyedTable}`,
    // The one row that decides which run of a line is charged.
    `create table batch_outcomes (
      batch_id ${text} not null references batches (id) on delete cascade,
      line ${integer} not null,
      part ${integer} not null,
      ending ${integer} not null,
      bytes ${integer} not null,
      content ${bytes} not null,
      primary key (batch_id, line)
    ) ${plainTable}`,
    `create table batch_records (
      batch_id ${text} not null references batches (id) on delete cascade,
      part ${integer} not null,
      line ${integer} not null,
      record ${text} not null,
      primary key (batch_id, part, line)
    ) ${plainTable}`,
  ];
}

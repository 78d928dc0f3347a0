import type { Ddl } from "../engine.ts";

/** Workspaces' own nodes, connected through a tunnel. */
export function nodes({ integer, text, plainTable }: Ddl): string[] {
  return [
    `create table nodes (
      id ${text} not null primary key,
      workspace_id ${text} not null references workspaces (id),
      name ${text} not null,
      country ${text} not null,
      digest ${text} not null unique,
      created_at_ms ${integer} not null,
      created_by ${text} not null,
      mapping ${text} not null,
      last_seen_at_ms ${integer},
      unique (workspace_id, name)
    ) ${plainTable}`,
  ];
}

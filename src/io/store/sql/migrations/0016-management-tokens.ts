import type { Ddl } from "../engine.ts";

/** Management API tokens of workspaces. */
export function managementTokens({ integer, text, plainTable }: Ddl): string[] {
  return [
    `create table management_tokens (
      id ${text} not null primary key,
      workspace_id ${text} not null references workspaces (id),
      name ${text} not null,
      access ${text} not null,
      digest ${text} not null unique,
      created_at_ms ${integer} not null,
      created_by ${text} not null,
      expires_at_ms ${integer}
    ) ${plainTable}`,
  ];
}

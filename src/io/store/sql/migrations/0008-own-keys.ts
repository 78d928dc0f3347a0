import type { Ddl } from "../engine.ts";

/** Workspaces' own provider keys, encrypted, with displayable metadata. */
export function ownKeys({ integer, text, bytes, plainTable }: Ddl): string[] {
  return [
    `create table workspace_credentials (
      workspace_id ${text} not null references workspaces (id),
      provider ${text} not null,
      kind ${text} not null,
      usage ${text} not null,
      hint ${text},
      fingerprint ${text} not null,
      created_at_ms ${integer} not null,
      changed_at_ms ${integer} not null,
      changed_by ${text} not null,
      result ${text} not null,
      tested_at_ms ${integer},
      secret ${bytes} not null,
      primary key (workspace_id, provider)
    ) ${plainTable}`,
  ];
}

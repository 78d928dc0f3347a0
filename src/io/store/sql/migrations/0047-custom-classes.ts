import type { Ddl } from "../engine.ts";

/** Data classes that workspaces define; what they look for is encrypted. */
export function customClasses({ integer, text, bytes, plainTable }: Ddl): string[] {
  return [
    `create table custom_classes (
      workspace_id ${text} not null references workspaces (id),
      name ${text} not null,
      version ${integer} not null,
      terms ${integer} not null,
      patterns ${integer} not null,
      changed_at_ms ${integer} not null,
      changed_by ${text} not null,
      definition ${bytes} not null,
      primary key (workspace_id, name)
    ) ${plainTable}`,
  ];
}

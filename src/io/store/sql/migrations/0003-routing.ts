import type { Ddl } from "../engine.ts";

/** Policies of keys, and versions of routers. */
export function routing({ integer, text, keyedTable, appendOnly }: Ddl): string[] {
  return [
    `alter table api_keys add column policy ${text}`,
    `create table router_versions (
      workspace_id ${text} not null references workspaces (id),
      slug ${text} not null,
      version ${integer} not null,
      created_at_ms ${integer} not null,
      spec ${text},
      primary key (workspace_id, slug, version)
    ) ${keyedTable}`,
    ...appendOnly("router_versions"),
  ];
}

import type { Ddl } from "../engine.ts";

/** The change feed in commit order, from which other instances reload. */
export function changes({ integer, text, identity, plainTable }: Ddl): string[] {
  return [
    `create table changes (
      seq ${identity},
      workspace_id ${text},
      at_ms ${integer} not null
    ) ${plainTable}`,
  ];
}

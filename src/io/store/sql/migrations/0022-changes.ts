import type { Ddl } from "../engine.ts";

/** What was changed by management, in the order in which it was committed: other instances learn of it here. */
export function changes({ integer, text, identity, plainTable }: Ddl): string[] {
  return [
    `create table changes (
      seq ${identity},
      workspace_id ${text},
      at_ms ${integer} not null
    ) ${plainTable}`,
  ];
}

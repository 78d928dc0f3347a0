import type { Ddl } from "../engine.ts";

/** Nodes: attested levels, and surfaces that the workspace sets, both as JSON; null: none. */
export function nodeLevels({ text }: Ddl): string[] {
  return [`alter table nodes add column attestations ${text}`, `alter table nodes add column surfaces ${text}`];
}

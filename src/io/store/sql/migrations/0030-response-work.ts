import type { Ddl } from "../engine.ts";

/** Of background work: whether it has begun to answer, and whether it was called off. */
export function responseWork({ integer }: Ddl): string[] {
  return ["answering", "called_off"].map(
    (name) => `alter table stored_responses add column ${name} ${integer} not null default 0`,
  );
}

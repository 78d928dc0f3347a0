import type { Ddl } from "../engine.ts";

/** Background responses: whether the answer has begun, and whether it was canceled. */
export function responseWork({ integer }: Ddl): string[] {
  return ["answering", "called_off"].map(
    (name) => `alter table stored_responses add column ${name} ${integer} not null default 0`,
  );
}

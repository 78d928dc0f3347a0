import type { Ddl } from "../engine.ts";

/** Which master key wrapped a data key; null where it was wrapped before this was kept. */
export function masterKeys({ text }: Ddl): string[] {
  return [`alter table data_keys add column master_key ${text}`];
}

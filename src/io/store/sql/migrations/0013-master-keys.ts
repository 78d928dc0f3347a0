import type { Ddl } from "../engine.ts";

/** The master key that wrapped a data key; null for older rows. */
export function masterKeys({ text }: Ddl): string[] {
  return [`alter table data_keys add column master_key ${text}`];
}

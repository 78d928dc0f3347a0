import type { Ddl } from "../engine.ts";

/** Data classes that a workspace is notified of, as a list in JSON; null: none. */
export function alertClasses({ text }: Ddl): string[] {
  return [`alter table alert_rules add column data_classes ${text}`];
}

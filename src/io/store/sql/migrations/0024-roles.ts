import type { Ddl } from "../engine.ts";

/** Grants for a role without ownership, on an engine that has roles. */
export function roles({ roles: statements }: Ddl): string[] {
  return [...statements];
}

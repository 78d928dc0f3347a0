import type { Ddl } from "../engine.ts";

/** What a role without ownership may do, where the engine has roles. */
export function roles({ roles: statements }: Ddl): string[] {
  return [...statements];
}

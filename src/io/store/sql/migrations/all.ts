import type { Ddl } from "../engine.ts";
import { foundation } from "./0001-foundation.ts";
import { responses } from "./0002-responses.ts";
import { routing } from "./0003-routing.ts";
import { spendLimits } from "./0004-spend-limits.ts";

/** A step forward. Once released it never changes: its text is remembered by every store that took it. */
export type Migration = { readonly number: number; readonly name: string; statements(ddl: Ddl): string[] };

export const MIGRATIONS: readonly Migration[] = [
  { number: 1, name: "foundation", statements: foundation },
  { number: 2, name: "responses", statements: responses },
  { number: 3, name: "routing", statements: routing },
  { number: 4, name: "spend limits", statements: spendLimits },
];

import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DATABASE_FILE } from "../../src/io/store/sql/sqlite/open.ts";

/** The store's file, read directly; waits for a running gateway's writes. */
export function openBooks(dataDir: string): DatabaseSync {
  return new DatabaseSync(path.join(dataDir, DATABASE_FILE), { timeout: 10_000 });
}

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DATABASE_FILE, openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";

/** For inserts into `ledger_transactions` that bypass the store. */
export const LEDGER_COLUMNS =
  "(workspace_id, created_at_ms, id, kind, from_account, to_account, currency, moved_nanos, note, detail)";

let made: Promise<Buffer> | undefined;

/** Creates an empty store in a folder, with the tables of a first start: created once, then copied. */
export async function layTables(dataDir: string): Promise<void> {
  made ??= migrated();
  writeFileSync(path.join(dataDir, DATABASE_FILE), await made, { mode: 0o600 });
}

async function migrated(): Promise<Buffer> {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-tables-"));
  try {
    await (await openSqlite(folder, systemClock)).close();
    return readFileSync(path.join(folder, DATABASE_FILE));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

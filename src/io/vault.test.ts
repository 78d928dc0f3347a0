import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll } from "vitest";
import { tempFolder } from "../../tests/support/journal-fixture.ts";
import { layTables } from "../../tests/support/tables.ts";
import { vaultSuite } from "../../tests/support/vault-suite.ts";
import { systemClock } from "../kit/clock.ts";
import { DATABASE_FILE, openSqlite } from "./store/sql/sqlite/open.ts";

const folders: ReturnType<typeof tempFolder>[] = [];
afterAll(() => {
  for (const folder of folders) folder.remove();
});

vaultSuite("the vault on SQLite", async () => {
  const folder = tempFolder("gateway-vault-");
  folders.push(folder);
  await layTables(folder.path);
  const store = await openSqlite(folder.path, systemClock);
  return {
    store,
    async change(...statements) {
      await store.close();
      const db = new DatabaseSync(path.join(folder.path, DATABASE_FILE));
      for (const statement of statements) db.exec(statement);
      db.close();
      return openSqlite(folder.path, systemClock);
    },
    bytes: async () =>
      readdirSync(folder.path)
        .filter((name) => name.startsWith(DATABASE_FILE))
        .map((file) => ({ file, bytes: readFileSync(path.join(folder.path, file)) })),
  };
});

import type { Ddl } from "../engine.ts";

// STRICT enforces column types. WITHOUT ROWID stores small rows in one B-tree instead of two.
export const sqliteDdl: Ddl = {
  integer: "integer",
  text: "text",
  bytes: "blob",
  identity: "integer not null primary key autoincrement",
  keyedTable: "strict, without rowid",
  plainTable: "strict",
  fromJson: (column, path) => `${column} ->> '$.${path.join(".")}'`,
  dayOf: (column) => `strftime('%Y-%m-%d', ${column} / 1000, 'unixepoch')`,
  appendOnly: (table) =>
    ["update", "delete"].map(
      (change) => `create trigger ${table}_no_${change} before ${change} on ${table}
        begin select raise(abort, '${table} is append only'); end`,
    ),
  indexAhead: () => [],
  shortLockTimeout: [],
  logPartitioning: { ahead: [], change: [] },
  roles: [],
};

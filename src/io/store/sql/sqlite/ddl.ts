import type { Ddl } from "../engine.ts";

// STRICT: a text can never end up in a money column. WITHOUT ROWID: one tree instead of two where rows are small.
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

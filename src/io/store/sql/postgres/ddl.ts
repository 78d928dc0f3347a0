import type { Ddl } from "../engine.ts";
import { LOG_PARTITION_DDL, LOG_PARTITION_PREPARATION } from "./log-partition-ddl.ts";
import { ROLE_DDL } from "./role-ddl.ts";

/** Bytewise: a locale collation may change with the operating system and corrupt unique indexes. */
const BYTEWISE = 'collate "C"';

export const postgresDdl: Ddl = {
  integer: "bigint",
  text: `text ${BYTEWISE}`,
  bytes: "bytea",
  identity: "bigint generated always as identity primary key",
  keyedTable: "",
  plainTable: "",
  fromJson: (column, path) => `(${column}::json #>> '{${path.join(",")}}') ${BYTEWISE}`,
  dayOf: (column) => `to_char(to_timestamp(${column} / 1000) at time zone 'UTC', 'YYYY-MM-DD') ${BYTEWISE}`,
  // A statement trigger also covers TRUNCATE.
  appendOnly: (table) => [
    `create or replace function refuse_change() returns trigger language plpgsql as $$
      begin raise exception '% is append only', tg_table_name using errcode = 'restrict_violation'; end $$`,
    `create trigger ${table}_append_only before update or delete or truncate on ${table}
      for each statement execute function refuse_change()`,
  ],
  // An interrupted concurrent build leaves an invalid index behind.
  indexAhead: (name, on) => [`drop index concurrently if exists ${name}`, `create index concurrently ${name} on ${on}`],
  // Longer than deadlock_timeout (1 s), after which PostgreSQL cancels an autovacuum that blocks the lock.
  shortLockTimeout: ["set local lock_timeout = '3s'"],
  logPartitioning: { ahead: LOG_PARTITION_PREPARATION, change: LOG_PARTITION_DDL },
  roles: ROLE_DDL,
};

import { DatabaseSync } from "node:sqlite";

export function openDatabaseFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  // synchronous = full: a journal segment is deleted once its records are committed here, so a commit must be durable when it
  // returns. One sync covers a whole batch.
  // page_size 16 KiB: log rows exceed a kilobyte, and larger pages save a fifth of the work.
  // cache_size 64 MiB: the index by shape is written in many places at once.
  db.exec(`
    pragma page_size = 16384;
    pragma journal_mode = wal;
    pragma synchronous = full;
    pragma foreign_keys = on;
    pragma recursive_triggers = on;
    pragma trusted_schema = off;
    pragma busy_timeout = 5000;
    pragma journal_size_limit = 67108864;
    pragma cache_size = -65536;
  `);
  return db;
}

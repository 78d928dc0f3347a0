import { DatabaseSync } from "node:sqlite";
import { mergeSqlColumns } from "../../../../kit/quantile-sketch.ts";
import { SKETCH_AGGREGATE } from "../sketch-frames.ts";

/** The SQL function that adds two columns of request sketches. */
export const MERGE_SKETCHES = "merge_sketches";

/** The SQL aggregate that adds a column of request sketches. */
export const ADD_SKETCHES = "add_sketches";

export function openDatabaseFile(file: string): DatabaseSync {
  const db = new DatabaseSync(file);
  // synchronous = full: a journal segment is deleted once its records are committed here, so a commit must be durable when it
  // returns. One sync covers a whole batch.
  // page_size 16 KiB: log rows exceed a kilobyte, and larger pages save a fifth of the work.
  // cache_size 64 MiB: the index by shape is written in many places at once.
  // analysis_limit: statistics are an estimate from this many entries of each index, so that they take milliseconds.
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
    pragma analysis_limit = 1000;
  `);
  registerFunctions(db);
  return db;
}

/** Readers see what was committed before their statement began, and never wait for the writer. */
export function openForReading(file: string): DatabaseSync {
  const db = new DatabaseSync(file, { readOnly: true });
  // cache_size 32 MiB: a reader goes through an index once.
  db.exec(`
    pragma trusted_schema = off;
    pragma busy_timeout = 5000;
    pragma cache_size = -32768;
  `);
  registerFunctions(db);
  return db;
}

/** The SQL functions that the gateway's statements call. */
export function registerFunctions(db: DatabaseSync): void {
  db.function(MERGE_SKETCHES, { deterministic: true }, mergeSqlColumns);
  db.aggregate(ADD_SKETCHES, SKETCH_AGGREGATE);
}

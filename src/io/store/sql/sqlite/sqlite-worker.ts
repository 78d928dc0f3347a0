import { DatabaseSync, type StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { UnbalancedTransaction } from "../../../../domain/billing/ledger.ts";
import { LruMap } from "../../../../kit/lru-map.ts";
import { collectGarbage } from "../../../../kit/release-memory.ts";
import { StoreError, type StoreFailure } from "../store-error.ts";
import type {
  SqliteWorkerData,
  SqlValue,
  StoreWorkerCall,
  StoreWorkerReply,
  StoreWorkerRequest,
} from "../store-worker-protocol.ts";
import { isUniqueViolation, sqliteErrorCode } from "./errors.ts";
import { prepareIngest } from "./ingest.ts";

// SQLite is synchronous, so it runs in a worker thread and the request path never waits for it.
const { file }: SqliteWorkerData = workerData;
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

const STATEMENTS_MAX = 200;
const statements = new LruMap<string, StatementSync>(STATEMENTS_MAX);
let ingest: ReturnType<typeof prepareIngest> | undefined;

function statementFor(sql: string): StatementSync {
  const known = statements.get(sql);
  if (known !== undefined) return known;
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  statements.set(sql, statement);
  return statement;
}

function query(sql: string, parameters: readonly SqlValue[]) {
  // SQLite has already rolled back after a full disk; a failing rollback would hide the cause.
  if (sql === "rollback" && !db.isTransaction) return { rows: [], changes: 0n };
  const statement = statementFor(sql);
  if (statement.columns().length > 0) return { rows: statement.all(...parameters), changes: 0n };
  return { rows: [], changes: BigInt(statement.run(...parameters).changes) };
}

function execute(request: StoreWorkerRequest) {
  switch (request.is) {
    case "query":
      return query(request.sql, request.parameters);
    case "ingest":
      // Prepared at first use, because the migrations create the tables.
      ingest ??= prepareIngest(db);
      ingest(request.batch);
      return { rows: [], changes: 0n };
    case "close":
      db.close();
      return { rows: [], changes: 0n };
  }
}

const PRIMARY_CODE = 0xff;
const CONSTRAINT_CODE = 19;
const MISMATCH_CODE = 20;

function failureOf(error: unknown): StoreFailure {
  if (error instanceof StoreError) return error.failure;
  if (error instanceof UnbalancedTransaction) return "rejected";
  // Errors of JavaScript itself (a number out of range, invalid JSON) are permanent.
  if (error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError) return "rejected";
  if (isUniqueViolation(error)) return "conflict";
  const code = sqliteErrorCode(error);
  return (code & PRIMARY_CODE) === CONSTRAINT_CODE || (code & PRIMARY_CODE) === MISMATCH_CODE
    ? "rejected"
    : "unavailable";
}

parentPort?.on("message", ({ id, request }: StoreWorkerCall) => {
  try {
    const reply = { id, is: "done", ...execute(request) };
    parentPort?.postMessage(reply);
    if (request.is === "close") parentPort?.close();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reply: StoreWorkerReply = { id, is: "failed", failure: failureOf(error), message };
    parentPort?.postMessage(reply);
  }
});

/** After startup, the garbage of migrations and first reads can be collected. */
const STARTUP_GC_DELAY_MS = 3_000;
setTimeout(collectGarbage, STARTUP_GC_DELAY_MS).unref();

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

// SQLite blocks while it works, so it lives in a thread of its own and the request path never waits for it.
const { file }: SqliteWorkerData = workerData;
const db = new DatabaseSync(file);
// FULL, not NORMAL: a journal segment is deleted once its records are committed here, so a commit must be on the disk
// when it returns. A commit covers a whole batch, which makes that one sync for hundreds of requests.
// Pages of 16 KiB: log rows are more than a kilobyte, and small pages would hold few of them: a fifth of the work.
// A cache of 64 MiB: an index by shape is written in many places at once.
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
  // A full disk takes the transaction back by itself; a failure of this would hide why.
  if (sql === "rollback" && !db.isTransaction) return { rows: [], changes: 0n };
  const statement = statementFor(sql);
  if (statement.columns().length > 0) return { rows: statement.all(...parameters), changes: 0n };
  return { rows: [], changes: BigInt(statement.run(...parameters).changes) };
}

function execute(ask: StoreWorkerRequest) {
  switch (ask.is) {
    case "query":
      return query(ask.sql, ask.parameters);
    case "ingest":
      // Prepared at first use, because the tables come with the migrations.
      ingest ??= prepareIngest(db);
      ingest(ask.batch);
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
  // What JavaScript refused before SQLite saw it (a number out of range, a text that is no JSON) will not improve.
  if (error instanceof RangeError || error instanceof SyntaxError || error instanceof TypeError) return "rejected";
  if (isUniqueViolation(error)) return "conflict";
  const code = sqliteErrorCode(error);
  return (code & PRIMARY_CODE) === CONSTRAINT_CODE || (code & PRIMARY_CODE) === MISMATCH_CODE
    ? "rejected"
    : "unavailable";
}

parentPort?.on("message", ({ id, request }: StoreWorkerCall) => {
  try {
    const answer = { number: id, is: "done", ...execute(request) };
    parentPort?.postMessage(answer);
    if (request.is === "close") parentPort?.close();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const answer: StoreWorkerReply = { number: id, is: "failed", failure: failureOf(error), message };
    parentPort?.postMessage(answer);
  }
});

/** By then the start is over, and what its migrations and first reads left behind can go. */
const STARTUP_GC_DELAY_MS = 3_000;
setTimeout(collectGarbage, STARTUP_GC_DELAY_MS).unref();

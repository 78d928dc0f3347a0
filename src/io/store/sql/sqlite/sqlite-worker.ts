import { parentPort, workerData } from "node:worker_threads";
import type {
  SqliteWorkerData,
  StoreWorkerCall,
  StoreWorkerReply,
  StoreWorkerRequest,
} from "../store-worker-protocol.ts";
import { storeFailureOf } from "./errors.ts";
import type { Ingest } from "./ingest.ts";
import { openDatabaseFile, openForReading } from "./open-database-file.ts";
import { statementRunner } from "./statement-runner.ts";

// SQLite is synchronous, so it runs in a worker thread and the request path never waits for it.
const data: SqliteWorkerData = workerData;
const db = data.access === "read" ? openForReading(data.file) : openDatabaseFile(data.file);
const isAwaited = () => data.access === "write" && Atomics.load(data.waiting, 0) > 0;
const query = statementRunner(db);
let ingest: Ingest | undefined;

async function execute(request: StoreWorkerRequest) {
  switch (request.is) {
    case "query":
      return query(request.sql, request.parameters);
    case "ingest":
      // Loaded with the first batch, because readers never need it; prepared then, because the migrations create the tables.
      ingest ??= (await import("./ingest.ts")).prepareIngest(db, isAwaited);
      return { rows: [], changes: BigInt(ingest(request.batch)) };
    case "close":
      db.close();
      return { rows: [], changes: 0n };
  }
}

parentPort?.on("message", async ({ id, request }: StoreWorkerCall) => {
  try {
    const reply = { id, is: "done", ...(await execute(request)) };
    parentPort?.postMessage(reply);
    if (request.is === "close") parentPort?.close();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const reply: StoreWorkerReply = { id, is: "failed", failure: storeFailureOf(error), message };
    parentPort?.postMessage(reply);
  }
});

/** After startup, the garbage of migrations and first reads can be collected. */
const STARTUP_GC_DELAY_MS = 3_000;
setTimeout(async () => {
  const { collectGarbage } = await import("../../../../kit/release-memory.ts");
  collectGarbage();
}, STARTUP_GC_DELAY_MS).unref();

import { parentPort, workerData } from "node:worker_threads";
import { StoreError } from "../store-error.ts";
import type {
  PostgresWorkerData,
  StoreWorkerCall,
  StoreWorkerReply,
  StoreWorkerRequest,
} from "../store-worker-protocol.ts";
import { toStoreError } from "./errors.ts";
import { DatabaseHealthProbe } from "./health-probe.ts";
import { ingestInto } from "./ingest.ts";
import { awaitClose, openPool } from "./pool.ts";

// Parsing a batch takes as long as several requests, so it runs in its own thread with its own connection.
const { address, unresponsiveMs }: PostgresWorkerData = workerData;
const pool = openPool(address, 1, "default");
const healthProbe = unresponsiveMs === undefined ? undefined : new DatabaseHealthProbe(address, unresponsiveMs);
const ingest = ingestInto(pool, healthProbe);

async function execute(request: StoreWorkerRequest): Promise<bigint> {
  if (request.is === "query") throw new StoreError("rejected", "this worker accepts batches only");
  if (request.is === "ingest") {
    await ingest(request.batch);
    return BigInt(request.batch.bounds.length / 2);
  }
  healthProbe?.close();
  await awaitClose(pool.end());
  return 0n;
}

async function handle({ id, request }: StoreWorkerCall): Promise<StoreWorkerReply> {
  try {
    return { id, is: "done", rows: [], changes: await execute(request) };
  } catch (error) {
    const { failure, message } = toStoreError(error);
    return { id, is: "failed", failure, message };
  }
}

parentPort?.on("message", async (call: StoreWorkerCall) => {
  parentPort?.postMessage(await handle(call));
  if (call.request.is === "close") parentPort?.close();
});

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

async function execute(request: StoreWorkerRequest): Promise<void> {
  if (request.is === "ingest") await ingest(request.batch);
  else if (request.is === "close") {
    healthProbe?.close();
    await awaitClose(pool.end());
  } else throw new StoreError("rejected", "this worker accepts batches only");
}

async function handle({ id, request }: StoreWorkerCall): Promise<StoreWorkerReply> {
  try {
    await execute(request);
    return { id, is: "done", rows: [], changes: 0n };
  } catch (error) {
    const { failure, message } = toStoreError(error);
    return { id, is: "failed", failure, message };
  }
}

parentPort?.on("message", async (call: StoreWorkerCall) => {
  parentPort?.postMessage(await handle(call));
  if (call.request.is === "close") parentPort?.close();
});

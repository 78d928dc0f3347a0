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

// Reading a batch takes as long as some requests do, so it is done in a thread of its own, over its own connection.
const { address, silenceMs }: PostgresWorkerData = workerData;
const pool = openPool(address, 1, "hurried");
const pulse = silenceMs === undefined ? undefined : new DatabaseHealthProbe(address, silenceMs);
const ingest = ingestInto(pool, pulse);

async function carryOut(ask: StoreWorkerRequest): Promise<void> {
  if (ask.is === "ingest") await ingest(ask.batch);
  else if (ask.is === "close") {
    pulse?.close();
    await awaitClose(pool.end());
  } else throw new StoreError("rejected", "this worker takes batches only");
}

async function answer({ id, request }: StoreWorkerCall): Promise<StoreWorkerReply> {
  try {
    await carryOut(request);
    return { number: id, is: "done", rows: [], changes: 0n };
  } catch (error) {
    const { failure, message } = toStoreError(error);
    return { number: id, is: "failed", failure, message };
  }
}

parentPort?.on("message", async (question: StoreWorkerCall) => {
  parentPort?.postMessage(await answer(question));
  if (question.request.is === "close") parentPort?.close();
});

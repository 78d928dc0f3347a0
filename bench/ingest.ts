import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { encodeBatch, type RecordBatch } from "../src/domain/record/record-batch.ts";
import { openPostgres } from "../src/io/store/sql/postgres/open.ts";
import { openSqlite } from "../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../src/kit/clock.ts";
import { startCluster } from "../tests/support/postgres.ts";
import { sampleRecords } from "./log-samples.ts";

/**
 * Measures how many request records per second a store ingests: `node bench/ingest.ts [records] [sqlite|postgres]`. Batches
 * are prepared in advance, in the size the journal delivers.
 */
const BATCH = 2000;
/** Records arrive as fast as they are ingested. */
const SPACING_MS = 0.1;
const total = Number(process.argv[2] ?? 100_000);
const cluster = process.argv[3] === "postgres" ? await startCluster() : undefined;
const folder = mkdtempSync(path.join(tmpdir(), "gateway-ingest-"));
const log = { info: () => {}, warn: () => {}, error: () => {} };
try {
  const store =
    cluster === undefined
      ? await openSqlite(folder, systemClock)
      : await openPostgres({
          ...{ address: await cluster.database("migrated"), connections: 2, dataDir: folder, clock: systemClock, log },
        });
  const samples = sampleRecords(total, Date.UTC(2027, 0, 15), SPACING_MS);
  let spentMs = 0;
  let cpuMs = 0;
  for (let done = 0; done < total; done += BATCH) {
    const batch = shared(encodeBatch(samples.take(BATCH).map(store.encodeRecord)));
    const startedMs = performance.now();
    const before = process.cpuUsage();
    await store.ingestBatch(batch);
    spentMs += performance.now() - startedMs;
    const { user, system } = process.cpuUsage(before);
    cpuMs += (user + system) / 1000;
  }
  await store.close();
  const aSecond = (ms: number) => Math.round((total / ms) * 1000);
  // CPU time of this process excludes a database server, and is the more reliable figure on a busy machine.
  console.log(`${total} records: ${aSecond(spentMs)} a second, ${aSecond(cpuMs)} for a second of CPU time`);
} finally {
  await cluster?.close();
  rmSync(folder, { recursive: true, force: true });
}

/** In shared memory, like the journal reader's buffers: nothing is copied to the worker. */
function shared({ bytes, bounds }: RecordBatch): RecordBatch {
  const copy = new Uint8Array(new SharedArrayBuffer(bytes.byteLength));
  copy.set(bytes);
  return { bytes: copy, bounds };
}

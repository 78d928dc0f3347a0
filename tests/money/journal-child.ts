import { openSync, writeSync } from "node:fs";
import { flushCompileCache } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { openIngestPipeline } from "../../src/io/journal/ingest-pipeline.ts";
import { openPostgres } from "../../src/io/store/sql/postgres/open.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { chargedRecord } from "../support/records.ts";

/**
 * Ends requests as fast as possible until it is killed, and writes each id to a file once its append has resolved: from
 * then on a client could have the complete response. Every fifth request begins and never ends.
 */
// Exits without time to write the compile cache.
flushCompileCache();
const [dataDir = "", round = "", url] = process.argv.slice(2);
const acknowledged = openSync(path.join(dataDir, "acknowledged"), "a");
const quiet = { info() {}, warn() {}, error() {} };
const store =
  url === undefined
    ? await openSqlite(dataDir, systemClock)
    : await openPostgres({ address: { url, shown: "" }, connections: 2, dataDir, clock: systemClock, log: quiet });
const { journal } = await openIngestPipeline({
  dataDir,
  store,
  clock: systemClock,
  random: Math.random,
  syncEveryMs: 5,
  log: quiet,
  // Small segments and short intervals, so that kills also hit rotation, ingest and deletion.
  tuning: { segmentMaxBytes: 64 * 1024, everyMs: 2, batchMax: 40 },
});

async function serve(number: number): Promise<void> {
  const record = chargedRecord(`r${round}-${number}`, BigInt(number + 1));
  const { id, workspaceId, createdAtMs: atMs } = record;
  await journal.append({ t: "open", id, workspaceId, atMs, record: { ...record, charge: null, usage: null } });
  if (number % 5 === 4) return;
  await journal.append({ t: "done", record });
  writeSync(acknowledged, `${id}\n`);
}

process.stdout.write("ready\n");
for (let number = 0; ; number += 10) {
  await Promise.all(Array.from({ length: 10 }, (_, n) => serve(number + n)));
  await sleep(1);
}

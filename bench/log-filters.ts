import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { LogFilter } from "../src/domain/record/record.ts";
import { openPostgres } from "../src/io/store/sql/postgres/open.ts";
import { openSqlite } from "../src/io/store/sql/sqlite/open.ts";
import type { Store } from "../src/io/store/sql/store.ts";
import { systemClock } from "../src/kit/clock.ts";
import { startCluster } from "../tests/support/postgres.ts";
import { HABITS, type Habits, sampleRecords } from "./log-samples.ts";

/**
 * Measures listing a workspace's last 50 records among many: `node bench/log-filters.ts [records] [usual|unlike|faded]
 * [sqlite|postgres]`. `unlike` labels every request differently; `faded` did so only long ago, at a provider it no longer
 * uses.
 */
const PAGE = 50;
const ROUNDS = 5;
const BATCH = 2000;
const total = Number(process.argv[2] ?? 1_000_000);
const habits: Habits = HABITS.find((habit) => habit === process.argv[3]) ?? "usual";
const engine = process.argv[4] === "postgres" ? "postgres" : "sqlite";
const END_MS = Date.UTC(2027, 0, 15);
const DAY_MS = 86_400_000;
/** A million requests are about a month. */
const SPACING_MS = 2600;

const KEY = (n: number) => `key_${n.toString(16).padStart(19, "0")}`;
const FILTERS: Readonly<Record<string, LogFilter>> = {
  none: {},
  "a busy key": { keyId: KEY(0) },
  "a quiet key": { keyId: KEY(39) },
  "no such key": { keyId: "key_none" },
  "a member": { memberId: "mem_0000000000000000008" },
  live: { environment: "live" },
  test: { environment: "test" },
  "a status": { status: 502 },
  "no such status": { status: 418 },
  "a class of status": { statusClass: 4 },
  "no such class": { statusClass: 3 },
  "a surface": { surface: "messages" },
  "no such surface": { surface: "speech" },
  "a surface that fails": { surface: "messages", statusClass: 5, environment: "test" },
  "a model": { model: "creator/model-3" },
  "the model auto": { model: "auto" },
  "a provider": { provider: "provider-1" },
  "a provider of long ago": { provider: "provider-gone" },
  "a status of long ago": { status: 503, environment: "live" },
  "an app": { app: "editor" },
  "no such app": { app: "unknown-app" },
  "a month ago": { untilMs: END_MS - 25 * DAY_MS },
  "a day long ago": { sinceMs: END_MS - 20 * DAY_MS, untilMs: END_MS - 19 * DAY_MS },
  "test and failed": { environment: "test", status: 502 },
  "key and model that never met": { keyId: KEY(0), model: "creator/model-11" },
  "live, app and provider": { environment: "live", app: "batch", provider: "provider-2" },
  "everything at once": { keyId: KEY(1), environment: "live", status: 200, model: "auto", app: "editor" },
  "the first model and app that fail": { app: "editor", model: "creator/model-5", status: 429, environment: "test" },
};

const folder = mkdtempSync(path.join(tmpdir(), "gateway-log-"));
const { store, filled, close } = await open();
try {
  const samples = sampleRecords(total, END_MS, SPACING_MS, habits);
  const filledMs = performance.now();
  for (let done = 0; done < total; done += BATCH) await store.ingest(samples.take(BATCH));
  const seconds = (performance.now() - filledMs) / 1000;
  await filled();
  console.log(`${total} records (${habits}, ${engine}) in ${Math.round(seconds)} s\n`);
  let slowest = { name: "", ms: 0 };
  for (const [name, filter] of Object.entries(FILTERS)) {
    const pages = await timed(() => store.log.list("ws_1", filter, PAGE, null));
    const { next } = pages.value;
    const second = next === null ? undefined : await timed(() => store.log.list("ws_1", filter, PAGE, next));
    const ms = Math.max(pages.worstMs, second?.worstMs ?? 0);
    if (ms > slowest.ms) slowest = { name, ms };
    const figures = [pages.bestMs, pages.worstMs, second?.bestMs].map((one) =>
      one === undefined ? "-" : one.toFixed(1),
    );
    console.log(`${name.padEnd(36)} ${String(pages.value.rows.length).padStart(3)} rows, ms: ${figures.join(" / ")}`);
  }
  console.log(`the slowest: ${slowest.name}, ${slowest.ms.toFixed(1)} ms`);
  const month = { fromMs: END_MS - 30 * DAY_MS, toMs: END_MS, stepMs: DAY_MS, group: "app", filter: {} } as const;
  const usage = await timed(() => store.rollups.usage("ws_1", month, 10_000));
  console.log(`usage of a month by app and day: ${usage.value.length} rows, ms: ${usage.bestMs.toFixed(1)}`);
} finally {
  await store.close();
  await close();
  rmSync(folder, { recursive: true, force: true });
}

type Opened = { readonly store: Store; filled(): Promise<unknown>; close(): Promise<void> };

async function open(): Promise<Opened> {
  const nothing = async () => {};
  if (engine === "sqlite") return { store: await openSqlite(folder, systemClock), filled: nothing, close: nothing };
  const cluster = await startCluster();
  const address = await cluster.database("migrated");
  const silent = { info() {}, warn() {}, error() {} };
  const store = await openPostgres({ address, connections: 4, dataDir: folder, clock: systemClock, log: silent });
  // Autovacuum does this on a long-running server.
  return { store, filled: () => cluster.query(address, "vacuum analyze"), close: () => cluster.close() };
}

async function timed<T>(work: () => Promise<T>) {
  let [bestMs, worstMs] = [Number.POSITIVE_INFINITY, 0];
  let value = await work();
  for (let round = 0; round < ROUNDS; round += 1) {
    const startedMs = performance.now();
    value = await work();
    const tookMs = performance.now() - startedMs;
    bestMs = Math.min(bestMs, tookMs);
    worstMs = Math.max(worstMs, tookMs);
  }
  return { value, bestMs, worstMs };
}

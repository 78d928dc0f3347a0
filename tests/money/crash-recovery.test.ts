import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import type { RequestRecord } from "../../src/domain/record/record.ts";
import { openIngestPipeline } from "../../src/io/journal/ingest-pipeline.ts";
import { openPostgres } from "../../src/io/store/sql/postgres/open.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import type { Store } from "../../src/io/store/sql/store.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { Chance } from "../simulation/chance.ts";
import { listeningLog, tempFolder } from "../support/journal-fixture.ts";
import { hasPostgres, startCluster } from "../support/postgres.ts";
import { rounds } from "../support/rounds.ts";

/** The same kill times at every run as far as timing allows; KILL_SEED draws others. */
const chance = new Chance(Number(process.env["KILL_SEED"] ?? 1));
const CHILD = path.join(import.meta.dirname, "journal-child.ts");

let folder: ReturnType<typeof tempFolder>;
beforeEach(() => {
  folder = tempFolder("gateway-kill-");
});
afterEach(() => folder.remove());

/** Runs a child on the folder and kills it at a random moment: some at start and replay, the others under load. */
async function runAndKill(round: number, ...more: string[]): Promise<void> {
  const child = spawn(process.execPath, [CHILD, folder.path, String(round), ...more], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const exited = once(child, "exit");
  if (round % 5 === 4) await sleep(chance.between(0, 300));
  else {
    await Promise.race([once(child.stdout, "data"), exited]);
    await sleep(chance.between(0, 80));
  }
  child.kill("SIGKILL");
  await exited;
}

async function wholeLog(store: Store): Promise<RequestRecord[]> {
  const rows: RequestRecord[] = [];
  let cursor: string | null = null;
  do {
    const page = await store.log.list("ws_1", {}, 1000, cursor);
    rows.push(...page.rows);
    cursor = page.next;
  } while (cursor !== null);
  return rows;
}

/** Every complete response is stored once, and the ledger balances. */
async function compare(open: () => Promise<Store>): Promise<void> {
  const lines = readFileSync(path.join(folder.path, "acknowledged"), "utf8").split("\n");
  const acknowledged = lines.slice(0, -1);
  expect(acknowledged.length).toBeGreaterThan(0);
  expect(new Set(acknowledged).size).toBe(acknowledged.length);

  const store = await open();
  const settings = {
    dataDir: folder.path,
    store,
    clock: systemClock,
    random: Math.random,
    syncEveryMs: 5,
    log: listeningLog(),
  };
  const books = await openIngestPipeline(settings);
  const rows = await wholeLog(store);
  const byId = new Map(rows.map((row) => [row.id, row]));
  expect(byId.size).toBe(rows.length);

  expect(acknowledged.filter((id) => byId.get(id)?.charge == null)).toEqual([]);
  const neverEnded = rows.filter(({ id }) => Number(id.split("-")[1]) % 5 === 4);
  expect(neverEnded.length).toBeGreaterThan(0);
  expect(neverEnded.filter(({ errorCode, charge }) => errorCode !== "interrupted" || charge !== null)).toEqual([]);

  const charged = rows.reduce((sum, { charge }) => sum + BigInt(charge?.nanos ?? "0"), 0n);
  expect((await store.ledger.wallet("ws_1"))?.balanceNanos).toBe(-charged);
  for (const { id, charge } of rows)
    if (charge !== null) expect(charge.nanos, id).toBe(String(Number(id.split("-")[1]) + 1));
  expect(await store.ledger.audit()).toEqual([]);
  const days = await store.rollups.daily("ws_1", "0000", "9999");
  expect(days.reduce((sum, { requests }) => sum + requests, 0)).toBe(rows.length);
  expect(days.reduce((sum, { costNanos }) => sum + costNanos, 0n)).toBe(charged);

  await books.close();
  await store.close();
}

test("BILL-07 kill -9 at any moment loses no acknowledged charge or log row and charges nothing twice", {
  timeout: rounds(300_000),
}, async () => {
  for (let round = 0; round < rounds(6); round += 1) await runAndKill(round);
  await compare(() => openSqlite(folder.path, systemClock));
});

test.skipIf(!hasPostgres)(
  "BILL-07 kill -9 at any moment loses and repeats nothing on PostgreSQL either",
  {
    timeout: rounds(300_000),
  },
  async () => {
    const cluster = await startCluster();
    onTestFinished(() => cluster.close());
    const address = await cluster.database("empty");
    for (let round = 0; round < rounds(2); round += 1) await runAndKill(round, address.url);
    const settings = { address, connections: 2, dataDir: folder.path, clock: systemClock, log: listeningLog() };
    await compare(() => openPostgres(settings));
  },
);

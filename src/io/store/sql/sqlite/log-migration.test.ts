import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { expectChargesAdded } from "../../../../../tests/support/missing-charges.ts";
import { chargedRecord, finishedRecord } from "../../../../../tests/support/records.ts";
import { systemClock } from "../../../../kit/clock.ts";
import { HOUR_MS } from "../../../../kit/time.ts";
import { DATABASE_FILE, openSqlite } from "./open.ts";

const START_MS = Date.UTC(2027, 0, 15);

/** The store as it was before requests had shapes. */
function takeBack(folder: string): void {
  const db = new DatabaseSync(path.join(folder, DATABASE_FILE));
  db.exec(`
    drop index request_records_by_shape;
    drop index request_records_by_time;
    alter table request_records drop column shape;
    create index request_records_by_time on request_records (workspace_id, created_at_ms, id);
    drop table request_shapes;
    drop table requests_hourly;
    alter table requests_daily drop column timed;
    alter table requests_daily drop column total_ms;
    alter table requests_daily drop column streamed;
    alter table requests_daily drop column first_byte_ms;
    delete from schema_migrations where number in (6, 18, 20, 38, 44, 48);
  `);
  db.close();
}

test("LOG-02 requests from before the migration are filtered, aggregated and removed like later ones", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const earlier = [
    chargedRecord("r1", 2n ** 55n + 1n, { createdAtMs: START_MS, memberId: "mem_1", app: null }),
    finishedRecord("r2", { createdAtMs: START_MS + 1, charge: null, usage: null, status: 502, errorCode: "x" }),
    finishedRecord("r3", { createdAtMs: START_MS + HOUR_MS, workspaceId: "ws_2", environment: "test" }),
    finishedRecord("r4", {
      createdAtMs: START_MS + HOUR_MS,
      usage: {
        inputTokens: 1,
        cachedTokens: 0,
        cacheWriteTokens: 0,
        outputTokens: 0,
        reasoningTokens: 0,
        audioInputTokens: 0,
        audioOutputTokens: 0,
        characters: 12,
        seconds: 2.5,
        estimated: true,
      },
    }),
  ];
  const query = { fromMs: 0, toMs: START_MS + 2 * HOUR_MS, stepMs: HOUR_MS, group: "status", filter: {} } as const;
  let store = await openSqlite(folder, systemClock);
  await store.ingest(earlier);
  const usage = await store.rollups.usage("ws_1", query, 100);
  expect(usage.map(({ requests, audioMs }) => [requests, audioMs])).toEqual([
    [1, 0],
    [1, 0],
    [1, 2500],
  ]);
  await store.close();
  takeBack(folder);
  store = await openSqlite(folder, systemClock);
  // How long requests took was not counted then: it is unknown, not guessed.
  const untimed = { timedRequests: 0, totalMs: 0, streamedRequests: 0, firstByteMs: 0 };
  expect(await store.rollups.usage("ws_1", query, 100)).toEqual(usage.map((row) => ({ ...row, ...untimed })));
  expect(await store.rollups.usageSketches("ws_1", query)).toEqual([]);
  const ids = async (filter: Parameters<typeof store.log.list>[1]) =>
    (await store.log.list("ws_1", filter, 10, null)).rows.map(({ id }) => id);
  expect(await ids({ memberId: "mem_1" })).toEqual(["r1"]);
  expect(await ids({ status: 200 })).toEqual(["r4", "r1"]);
  expect(await ids({ app: "support-desk", model: "example/model-large" })).toEqual(["r4", "r2"]);
  expect(await ids({ surface: "chat" })).toEqual(["r4", "r2", "r1"]);
  await store.ingest([...earlier, finishedRecord("r5", { createdAtMs: START_MS + HOUR_MS })]);
  expect(await ids({ status: 200, app: "support-desk" })).toEqual(["r5", "r4"]);
  const [hour] = await store.rollups.usage("ws_1", { ...query, fromMs: START_MS + HOUR_MS }, 100);
  expect(hour?.requests).toBe(2);
  await store.close();
});

test("BILL-01 charges that earlier versions left out of the roll-ups are added to them once", async () => {
  const folder = mkdtempSync(path.join(tmpdir(), "gateway-log-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  await expectChargesAdded(
    () => openSqlite(folder, systemClock),
    async (statements) => {
      const db = new DatabaseSync(path.join(folder, DATABASE_FILE));
      for (const statement of statements) db.exec(statement);
      db.close();
    },
  );
});

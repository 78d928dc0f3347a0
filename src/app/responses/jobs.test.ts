import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MASTER_KEY, storedResponse } from "../../../tests/support/response-suite.ts";
import type { ResponseStore } from "../../domain/responses/stored.ts";
import { openSqlite } from "../../io/store/sql/sqlite/open.ts";
import type { Store } from "../../io/store/sql/store.ts";
import { openVault } from "../../io/vault.ts";
import { systemClock } from "../../kit/clock.ts";
import { eventsAfter } from "./event-log.ts";
import { Job } from "./job.ts";
import { Jobs } from "./jobs.ts";

let folder: string;
let sql: Store;
let store: ResponseStore;
let jobs: Jobs;

beforeEach(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), "gateway-jobs-"));
  sql = await openSqlite(folder, systemClock);
  store = sql.responses(openVault(MASTER_KEY, sql.dataKeys));
  const jobsMax = { all: 10, workspace: 10 };
  const rest = { bytesMax: 1e9, diskIsLow: () => false, keepAliveMs: 1000, mayKeep: () => true, warn: () => undefined };
  jobs = new Jobs({ store, clock: systemClock, retentionMs: 1000, jobsMax, ...rest });
});
afterEach(async () => {
  await sql.close();
  rmSync(folder, { recursive: true });
});

const REQUEST = { body: "{}", headers: {}, clientAddress: "::1" };

async function queued(): Promise<Job> {
  const response = { id: "resp_1", status: "queued", created_at: 1, output: [] };
  const job = new Job(storedResponse("resp_1", { status: "queued", background: "streamed", response }));
  await jobs.open(job, REQUEST);
  return job;
}

test("RESP-05 an answer that was settled while the process stopped is stored, with its events and no other", async () => {
  const job = await queued();
  job.abandon();
  const response = { id: "resp_1", status: "completed", created_at: 1, output: [{ type: "message", id: "msg_1" }] };
  job.keep(JSON.stringify(response));
  job.sink.end(`event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed", response });
  const events: string[] = [];
  for await (const piece of eventsAfter(store, job.stored, -1))
    for (const { sequence, text } of piece) events.push(`${sequence} ${text.split("\n")[0]}`);
  expect(events).toEqual(["0 event: response.created", "1 event: response.queued", "2 event: response.completed"]);
});

test("RESP-05 work that was given up and came to no end stays as it is, for the next start", async () => {
  const job = await queued();
  job.abandon();
  const response = { id: "resp_1", status: "failed", created_at: 1, output: [] };
  job.keep(JSON.stringify(response));
  await jobs.finish(job, new Error("the connection was closed"));
  expect(await store.unfinished()).toMatchObject([{ id: "resp_1", status: "queued", request: REQUEST }]);
});

test("RESP-04 a long list of events is read in pieces, and is whole all the same", async () => {
  await store.add(storedResponse("resp_1", { background: "streamed" }));
  for (let sequence = 0; sequence < 50; sequence += 1)
    await store.appendEvents("ws_1", "resp_1", [{ sequence, text: `event ${sequence}` }]);
  const pieces: number[][] = [];
  for await (const piece of eventsAfter(store, { workspaceId: "ws_1", id: "resp_1" }, 9))
    pieces.push(piece.map(({ sequence }) => sequence));
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.flat()).toEqual(Array.from({ length: 40 }, (_, at) => at + 10));
});

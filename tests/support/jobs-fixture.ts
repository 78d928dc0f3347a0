import { mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { BackgroundJob } from "../../src/app/responses/background-job.ts";
import { BackgroundJobs } from "../../src/app/responses/background-jobs.ts";
import type { ResponsesDeps } from "../../src/app/responses/responses-deps.ts";
import type { ResponseStore } from "../../src/domain/responses/response-store.ts";
import { MasterKeys } from "../../src/io/master-keys.ts";
import { openSqlite } from "../../src/io/store/sql/sqlite/open.ts";
import { openVault } from "../../src/io/vault.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { JsonInTurns } from "../../src/kit/json-in-turns.ts";
import { MASTER_KEY, storedResponse } from "./response-suite.ts";
import { layTables } from "./tables.ts";

/** Background jobs on their own store. */
export type JobsFixture = { readonly store: ResponseStore; readonly jobs: BackgroundJobs; close(): Promise<void> };

export async function openJobsFixture(): Promise<JobsFixture> {
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-jobs-"));
  await layTables(folder);
  const sql = await openSqlite(folder, systemClock);
  const store = sql.responses(openVault(new MasterKeys(MASTER_KEY), sql.dataKeys));
  const jobs = jobsWith(store);
  const close = async () => {
    await sql.close();
    rmSync(folder, { recursive: true });
  };
  return { store, jobs, close };
}

/** How long this waits for the owner of an end. */
const END_WAIT_MS = 2000;

type Rules = Partial<Pick<ResponsesDeps, "mayKeep" | "instances">>;

export function jobsWith(
  store: ResponseStore,
  { mayKeep = () => true, instances = "several" }: Rules = {},
): BackgroundJobs {
  const jobsMax = { all: 10, workspace: 10 };
  const bounds = { retentionMs: 1000, bytesMax: 1e9, jobsMax, keepAliveMs: 1000, endWaitMs: END_WAIT_MS };
  const clock = { ...systemClock, nowMs: () => 2000 };
  const given = { json: new JsonInTurns(), diskIsLow: () => false, memberOf: () => null, warn: () => undefined };
  return new BackgroundJobs({ store, clock, mayKeep, instances, ...bounds, ...given });
}

export const REQUEST = { body: "{}", headers: {}, clientAddress: "::1" };

export async function queuedJob(jobs: BackgroundJobs): Promise<BackgroundJob> {
  const response = { id: "resp_1", status: "queued", created_at: 1, output: [] };
  const job = new BackgroundJob(storedResponse("resp_1", { status: "queued", background: "streamed", response }));
  await jobs.open(job, REQUEST);
  return job;
}

export async function begunJob(jobs: BackgroundJobs): Promise<BackgroundJob> {
  const job = await queuedJob(jobs);
  await jobs.begin(job);
  return job;
}

import { afterEach, beforeEach, expect, test } from "vitest";
import {
  begunJob,
  type JobsFixture,
  jobsWith,
  openJobsFixture,
  queuedJob,
  REQUEST,
} from "../../../tests/support/jobs-fixture.ts";
import { storedResponse } from "../../../tests/support/response-suite.ts";
import { fault } from "../../contract/faults.ts";
import type { ResponseStore } from "../../domain/responses/response-store.ts";
import { memoryState } from "../../io/state/memory-state.ts";
import { systemClock } from "../../kit/clock.ts";
import { BackgroundJob } from "./background-job.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import { endWork } from "./end-work.ts";

let context: JobsFixture;
let store: ResponseStore;
let jobs: BackgroundJobs;

beforeEach(async () => {
  context = await openJobsFixture();
  ({ store, jobs } = context);
});
afterEach(() => context.close());

const begun = () => begunJob(jobs);

test("RESP-04 RESP-05 a failed run does not end the response that another instance has resumed", async () => {
  const job = await begun();
  await store.startRun("resp_1");
  await jobs.finish(job, new Error("the provider is away"));
  expect(await store.unfinished()).toMatchObject([{ id: "resp_1", status: "in_progress", runs: 2 }]);
});

test("RESP-04 RESP-05 a complete reply is stored, even when a newer run exists", async () => {
  for (const finds of ["nothing", "the other", "the other, and no store"]) {
    const job = await begun();
    await store.startRun("resp_1");
    if (finds !== "nothing") await jobs.stopUnwanted();
    expect(await jobs.claimEnd("resp_1", "complete")).toBeUndefined();
    // The job has ended, so no check stops it.
    await jobs.stopUnwanted();
    expect(jobs.isTakenOver("resp_1")).toBe(false);
    const response = { id: "resp_1", status: "completed", created_at: 1, output: [] };
    await job.setReply(JSON.stringify(response));
    const { finish } = store;
    let away = finds === "the other, and no store" ? 1 : 0;
    store.finish = (end) => (away-- > 0 ? Promise.reject(new Error("the store is away")) : finish(end));
    await jobs.finish(job, undefined);
    store.finish = finish;
    expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed", response });
    await store.remove("ws_1", "resp_1", 2000);
  }
});

test("RESP-05 BILL-02 one run claims the end before settlement: a complete reply, or the newest run", async () => {
  const code = async (made: "complete" | "partial") => (await jobs.claimEnd("resp_1", made))?.code;
  const failed = await begun();
  await store.startRun("resp_1");
  expect(await code("partial")).toBe("service_unavailable");
  expect([jobs.isUnrecorded("resp_1"), jobs.isTakenOver("resp_1")]).toEqual([true, true]);
  await jobs.finish(failed, new Error("the provider is away"));
  expect(await store.unfinished()).toMatchObject([{ id: "resp_1", runs: 2, hasStartedAnswering: false }]);
  // The other one has its answer, and has not stored it yet.
  const second = new BackgroundJob({ ...failed.stored, runs: 2 });
  jobs.reopen(second);
  second.begin(2);
  expect(await store.claimEnd({ id: "resp_1", run: 1 }, "complete")).toBe("claimed");
  for (const made of ["partial", "complete"] as const) expect(await code(made)).toBe("service_unavailable");
  expect(jobs.isTakenOver("resp_1")).toBe(true);
  await jobs.finish(second, undefined);
  // Deleting a response charges its output so far.
  const deleted = new BackgroundJob({ ...failed.stored, runs: 2 });
  jobs.reopen(deleted);
  deleted.begin(2);
  await store.remove("ws_1", "resp_1", 2000);
  expect(await code("partial")).toBeUndefined();
  await jobs.finish(deleted, undefined);
});

test("RESP-05 BILL-02 a complete reply is not charged when another end is stored; the claim is retried", async () => {
  const job = await begun();
  const { response } = storedResponse("resp_1");
  await store.finish({ id: "resp_1", workspaceId: "ws_1", status: "cancelled", response, events: [] });
  const { claimEnd } = store;
  let away = 2;
  store.claimEnd = (...end) => (away-- > 0 ? Promise.reject(new Error("the store is away")) : claimEnd(...end));
  expect((await jobs.claimEnd("resp_1", "complete"))?.code).toBe("service_unavailable");
  expect([away, jobs.isTakenOver("resp_1")]).toEqual([-1, false]);
  await jobs.finish(job, undefined);
  await store.remove("ws_1", "resp_1", 2000);
  // A process that ends does not wait: what it could not ask about is the next one's, and is free.
  const last = await begun();
  store.claimEnd = () => Promise.reject(new Error("the store is away"));
  const claim = jobs.claimEnd("resp_1", "complete");
  last.abandon();
  expect((await claim)?.code).toBe("service_unavailable");
  expect(jobs.isUnrecorded("resp_1")).toBe(true);
  await jobs.finish(last, undefined);
});

test("BILL-09 BILL-02 RESP-05 at the claim timeout a complete reply is stored and anything else is left", async () => {
  for (const unheard of [() => new Promise<never>(() => undefined), () => Promise.reject(new Error("away"))]) {
    for (const [made, code] of [
      ["complete", undefined],
      ["partial", "service_unavailable"],
    ] as const) {
      const job = await begun();
      const { claimEnd } = store;
      store.claimEnd = unheard;
      expect((await jobs.claimEnd("resp_1", made))?.code).toBe(code);
      store.claimEnd = claimEnd;
      expect(jobs.isTakenOver("resp_1")).toBe(made === "partial");
      await jobs.finish(job, undefined);
      await store.remove("ws_1", "resp_1", 2000);
    }
  }
}, 30_000);

test("RESP-05 BILL-09 a claim that succeeds after its timeout is returned, so that a resume can begin", async () => {
  const { claimEnd } = store;
  for (const reply of ["late", "never"]) {
    const job = await begun();
    const silence = Promise.withResolvers<void>();
    const done = Promise.withResolvers<string>();
    store.claimEnd = async (...claim) => {
      await silence.promise;
      const end = await claimEnd(...claim);
      done.resolve(end);
      if (reply === "never") throw new Error("the connection was lost");
      return end;
    };
    expect((await jobs.claimEnd("resp_1", "partial"))?.code).toBe("service_unavailable");
    await jobs.finish(job, new Error("the provider is away"));
    silence.resolve();
    expect(await done.promise).toBe("claimed");
    await expect.poll(() => store.startRun("resp_1")).toEqual({ is: "started", run: 2 });
    expect(await store.unfinished()).toMatchObject([{ id: "resp_1", hasStartedAnswering: false }]);
    store.claimEnd = claimEnd;
    await store.remove("ws_1", "resp_1", 2000);
  }
}, 30_000);

test("RESP-05 BILL-09 a claim of a hanging query is returned at the timeout", async () => {
  const job = await begun();
  const { claimEnd } = store;
  store.claimEnd = async (...claim) => {
    await claimEnd(...claim);
    return new Promise<never>(() => undefined);
  };
  expect((await jobs.claimEnd("resp_1", "partial"))?.code).toBe("service_unavailable");
  await expect.poll(() => store.startRun("resp_1")).toEqual({ is: "started", run: 2 });
  store.claimEnd = claimEnd;
  await jobs.finish(job, new Error("the provider is away"));
});

test("RESP-05 BILL-02 a complete reply is not stored when another end is already known", async () => {
  const job = await begun();
  const { claimEnd } = store;
  store.claimEnd = () => new Promise<never>(() => undefined);
  const claim = jobs.claimEnd("resp_1", "complete");
  const { response } = storedResponse("resp_1");
  await store.finish({ id: "resp_1", workspaceId: "ws_1", status: "cancelled", response, events: [] });
  await jobs.stopUnwanted();
  expect((await claim)?.code).toBe("service_unavailable");
  store.claimEnd = claimEnd;
  await jobs.finish(job, undefined);
});

test("RESP-05 LOG-01 a run that owns the end at shutdown keeps its record, hold and end", async () => {
  const job = await begun();
  expect(await jobs.claimEnd("resp_1", "partial")).toBeUndefined();
  jobs.abandon();
  expect([jobs.isTakenOver("resp_1"), jobs.isUnrecorded("resp_1")]).toEqual([false, false]);
  await jobs.finish(job, new Error("the provider is away"));
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "failed" });
});

test("BILL-09 RESP-05 at shutdown one of several instances leaves hold and key; a single one releases them", async () => {
  for (const instances of ["several", "one"] as const) {
    const stopping = jobsWith(store, { instances });
    const job = await begunJob(stopping);
    await store.startRun("resp_1");
    stopping.abandon();
    expect(await stopping.claimEnd("resp_1", "partial")).toBeUndefined();
    expect([stopping.isTakenOver("resp_1"), stopping.isUnrecorded("resp_1")]).toEqual([instances === "several", true]);
    await stopping.finish(job, undefined);
    await store.remove("ws_1", "resp_1", 2000);
  }
  // A whole answer is its own to settle.
  const made = await begun();
  jobs.abandon();
  expect(await jobs.claimEnd("resp_1", "complete")).toBeUndefined();
  expect(jobs.isTakenOver("resp_1")).toBe(false);
  await jobs.finish(made, undefined);
});

test("LOG-01 RESP-05 a complete reply is recorded when a single instance shuts down", async () => {
  const stopping = jobsWith(store, { instances: "one" });
  const job = await begunJob(stopping);
  stopping.abandon();
  expect(await stopping.claimEnd("resp_1", "complete")).toBeUndefined();
  expect(stopping.isUnrecorded("resp_1")).toBe(false);
  await stopping.finish(job, undefined);
});

test("RESP-05 BILL-02 a run that begins after another claimed the end leaves hold, key and end to it", async () => {
  const first = await begun();
  expect(await jobs.claimEnd("resp_1", "partial")).toBeUndefined();
  const others = jobsWith(store);
  const second = new BackgroundJob({ ...first.stored, runs: 1 });
  others.reopen(second);
  await others.begin(second);
  expect([second.run, second.sink.disconnected, others.isTakenOver("resp_1")]).toEqual([undefined, true, true]);
  await others.finish(second, undefined);
  await jobs.finish(first, new Error("the provider is away"));
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "failed", runs: 1 });
});

/** Another instance has read the row after its first run, and fails: before it begins, or without hearing that it has. */
async function failsAgain(how: "not_started" | "unheard"): Promise<unknown[]> {
  const others = jobsWith(store);
  const job = new BackgroundJob(storedResponse("resp_1", { status: "in_progress", background: "streamed", runs: 1 }));
  others.reopen(job);
  const { startRun } = store;
  store.startRun = async (id) => Promise.reject(new Error(`the connection was lost: ${(await startRun(id)).is}`));
  if (how === "unheard") await expect(others.begin(job)).rejects.toThrow("lost");
  store.startRun = startRun;
  const why = await others.claimEnd("resp_1", "partial");
  const left = [why?.code, others.isTakenOver("resp_1"), others.isUnrecorded("resp_1")];
  await others.finish(job, new Error("the queue is full"));
  return left;
}
const LEAVES = ["service_unavailable", true, true];
const ENDS = [undefined, false, false];

test("RESP-05 BILL-02 a run that fails before it begins leaves hold, key and end to the owning run", async () => {
  const first = await begun();
  expect(await jobs.claimEnd("resp_1", "complete")).toBeUndefined();
  for (const how of ["not_started", "unheard"] as const) expect(await failsAgain(how)).toEqual(LEAVES);
  const others = jobsWith(store);
  const second = new BackgroundJob({ ...first.stored, runs: 1 });
  others.reopen(second);
  await others.finish(second, new Error("the queue is full"));
  await first.setReply(JSON.stringify({ id: "resp_1", status: "completed", created_at: 1, output: [] }));
  await jobs.finish(first, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed", runs: 1 });
});

test("RESP-05 BILL-02 a run that fails before it begins ends an orphan, but no run begun since", async () => {
  for (const [how, runs, left, status] of [
    ["not_started", 1, ENDS, "failed"],
    ["unheard", 1, ENDS, "failed"],
    ["not_started", 2, LEAVES, "in_progress"],
    ["unheard", 2, LEAVES, "in_progress"],
  ] as const) {
    await store.add(storedResponse("resp_1", { status: "in_progress", runs }), REQUEST);
    expect(await failsAgain(how)).toEqual(left);
    expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status });
    await store.remove("ws_1", "resp_1", 2000);
  }
});

test("RESP-04 RESP-05 a job whose begin failed ends as failed and is not stopped while it claims the end", async () => {
  for (const [status, runs] of [
    ["queued", 0],
    ["in_progress", 1],
  ] as const) {
    const row = storedResponse("resp_1", { status, runs });
    await store.add(row, REQUEST);
    const job = new BackgroundJob(row);
    jobs.reopen(job);
    const { startRun, claimEnd } = store;
    store.startRun = () => Promise.reject(new Error("the connection was lost"));
    await expect(jobs.begin(job)).rejects.toThrow("lost");
    store.startRun = startRun;
    store.claimEnd = () => Promise.reject(new Error("the store is away"));
    const claim = jobs.claimEnd("resp_1", "partial");
    store.claimEnd = claimEnd;
    await jobs.stopUnwanted();
    expect(await claim).toBeUndefined();
    await jobs.finish(job, fault("service_unavailable", { message: "The store is away." }));
    const stored = await store.find("ws_1", "resp_1", 2000);
    expect(stored).toMatchObject({ status: "failed", runs, response: { error: { code: "service_unavailable" } } });
    await store.remove("ws_1", "resp_1", 2000);
  }
});

test("RESP-04 a job cancelled while its begin was unknown is stopped", async () => {
  const job = await queuedJob(jobs);
  const { startRun } = store;
  store.startRun = () => Promise.reject(new Error("the connection was lost"));
  await expect(jobs.begin(job)).rejects.toThrow("lost");
  store.startRun = startRun;
  await store.cancel("ws_1", "resp_1");
  await jobs.stopUnwanted();
  await jobs.finish(job, new Error("the store was away"));
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "cancelled", response: { error: null } });
});

test("RESP-04 BILL-02 a run that another one has ended breaks off, and its output is not charged", async () => {
  const job = await begun();
  job.sink.start(200, {});
  const { response } = storedResponse("resp_1");
  await store.startRun("resp_1");
  await store.finish({ id: "resp_1", workspaceId: "ws_1", status: "completed", response, events: [] });
  await jobs.stopUnwanted();
  expect([job.sink.disconnected, job.sink.refusal?.code]).toEqual([false, "service_unavailable"]);
  // The journal has it as begun, so its end is written there, and is free.
  expect([jobs.isUnrecorded("resp_1"), jobs.isTakenOver("resp_1")]).toEqual([false, false]);
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed", response });
});

test("RESP-04 cancelling applies to both runs of a job that another instance resumed", async () => {
  const job = await begun();
  await store.startRun("resp_1");
  job.sink.onDisconnect(() => void jobs.finish(job, undefined));
  const gateway = { state: memoryState(systemClock) };
  await endWork({ jobs, store, clock: { ...systemClock, nowMs: () => 2000 }, gateway }, "ws_1", "resp_1");
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "cancelled", runs: 2 });
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import {
  begunJob,
  type JobsFixture,
  jobsWith,
  openJobsFixture,
  queuedJob,
  REQUEST,
} from "../../../tests/support/jobs-fixture.ts";
import { runOf, storedResponse } from "../../../tests/support/response-suite.ts";
import type { ResponseStore } from "../../domain/responses/response-store.ts";
import { memoryState } from "../../io/state/memory-state.ts";
import { memoryCoordinationStore } from "../../io/workers/memory-coordination-store.ts";
import { systemClock } from "../../kit/clock.ts";
import { systemTimers } from "../../kit/timers.ts";
import type { ResponseSink } from "../exchange.ts";
import { BackgroundJob } from "./background-job.ts";
import type { BackgroundJobs } from "./background-jobs.ts";
import { endWork } from "./end-work.ts";
import { followJob, followStored } from "./follow-response.ts";
import { RemoteJobs } from "./remote-jobs.ts";
import { eventOf, eventsAfter, eventsOf, missingDoneEvents } from "./response-events.ts";

let context: JobsFixture;
let store: ResponseStore;
let jobs: BackgroundJobs;

beforeEach(async () => {
  context = await openJobsFixture();
  ({ store, jobs } = context);
});
afterEach(() => context.close());

const queued = () => queuedJob(jobs);
const begun = () => begunJob(jobs);

test("RESP-05 a reply settled during shutdown is stored with exactly its events", async () => {
  const job = await queued();
  job.abandon();
  const response = { id: "resp_1", status: "completed", created_at: 1, output: [{ type: "message", id: "msg_1" }] };
  await job.setReply(JSON.stringify(response));
  job.sink.end(`event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed", response });
  const events: string[] = [];
  for await (const piece of eventsAfter(store, job.stored, -1))
    for (const { sequence, text } of piece) events.push(`${sequence} ${text.split("\n")[0]}`);
  expect(events).toEqual(["0 event: response.created", "1 event: response.queued", "2 event: response.completed"]);
});

test("RESP-05 an abandoned job keeps its row for the next start", async () => {
  const job = await queued();
  job.abandon();
  const response = { id: "resp_1", status: "failed", created_at: 1, output: [] };
  await job.setReply(JSON.stringify(response));
  await jobs.finish(job, new Error("the connection was closed"));
  expect(await store.unfinished()).toMatchObject([{ id: "resp_1", status: "queued", request: REQUEST }]);
});

test("RESP-04 many events are read completely in several pages", async () => {
  await store.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
  for (let sequence = 0; sequence < 50; sequence += 1)
    await store.appendEvents(runOf("resp_1"), [{ sequence, text: `event ${sequence}` }]);
  const pieces: number[][] = [];
  for await (const piece of eventsAfter(store, { workspaceId: "ws_1", id: "resp_1" }, 9))
    pieces.push(piece.map(({ sequence }) => sequence));
  expect(pieces.length).toBeGreaterThan(1);
  expect(pieces.flat()).toEqual(Array.from({ length: 40 }, (_, at) => at + 10));
});

test("RESP-05 stored events show whether output had begun", async () => {
  await store.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
  const of = { workspaceId: "ws_1", id: "resp_1" };
  for (const [sequence, type] of ["response.created", "response.queued", "response.in_progress"].entries())
    await store.appendEvents(runOf("resp_1"), [{ sequence, text: `event: ${type}\ndata: {}\n\n` }]);
  expect(await eventsOf(store, of)).toEqual({ count: 3, hasOutput: false, doneIndexes: new Set() });
  await store.appendEvents(runOf("resp_1"), [{ sequence: 3, text: delta(1) }]);
  expect(await eventsOf(store, of)).toEqual({ count: 4, hasOutput: true, doneIndexes: new Set() });
});

test("RESP-05 only items without a done event get one", async () => {
  await store.add(storedResponse("resp_1", { status: "in_progress", background: "streamed" }));
  await store.appendEvents(runOf("resp_1"), [eventOf("response.output_item.done", 0, { output_index: 1, item: {} })]);
  const published = await eventsOf(store, { workspaceId: "ws_1", id: "resp_1" });
  expect(published).toEqual({ count: 1, hasOutput: true, doneIndexes: new Set([1]) });
  expect(missingDoneEvents([{ id: "a" }, { id: "b" }, { id: "c" }], published)).toEqual([
    eventOf("response.output_item.done", 1, { output_index: 0, item: { id: "a" } }),
    eventOf("response.output_item.done", 2, { output_index: 2, item: { id: "c" } }),
  ]);
});

test("RESP-05 the orphan timeout restarts after the coordination store was unavailable", async () => {
  for (const [runs, id] of ["resp_new", "resp_1"].entries())
    await store.add(storedResponse(id, { status: "queued", background: "streamed", runs }), REQUEST);
  const left = await store.unfinished();
  expect(left).toHaveLength(2);
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const board = memoryCoordinationStore(clock, systemTimers);
  let isAway = false;
  const put: typeof board.put = async (...fact) => {
    if (isAway) throw new Error("away");
    await board.put(...fact);
  };
  const taken: string[][] = [];
  const shared = { board: { ...board, put }, fleet: { id: "one", isLeader: true }, clock, jobs, warn: () => undefined };
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    const remoteJobs = new RemoteJobs({
      ...shared,
      store: { ...store, unfinished: async () => left },
      resume: async (ids) => void taken.push([...ids]),
    });
    remoteJobs.start();
    const lookAfter = async (ms: number) => {
      nowMs += ms;
      await vi.advanceTimersByTimeAsync(3000);
    };
    // It has just begun and is not announced yet.
    await lookAfter(3000);
    isAway = true;
    await lookAfter(15_000);
    isAway = false;
    await lookAfter(3000);
    expect(taken).toEqual([]);
    await lookAfter(10_000);
    expect(taken).toEqual([["resp_1"]]);
    // What was never begun may have been refused, and the log not know of it yet.
    await lookAfter(34_000);
    expect(taken.slice(1)).toEqual([["resp_1"]]);
    await lookAfter(1000);
    expect(taken.slice(2).map((ids) => ids.toSorted())).toEqual([["resp_1", "resp_new"]]);
    await remoteJobs.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("RESP-05 an instance with unresponsive SQL keeps announcing its jobs and can shut down", async () => {
  await begun();
  const silent = () => new Promise<never>(() => undefined);
  store.activeRuns = silent;
  store.unfinished = silent;
  const board = memoryCoordinationStore(systemClock, systemTimers);
  const published: string[] = [];
  const put: typeof board.put = async (...fact) => void published.push(fact[1]);
  const shared = { board: { ...board, put }, fleet: { id: "one", isLeader: true }, clock: systemClock };
  const remoteJobs = new RemoteJobs({ ...shared, store, jobs, warn: () => undefined, resume: async () => undefined });
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  try {
    remoteJobs.start();
    for (let looks = 0; looks < 5; looks += 1) await vi.advanceTimersByTimeAsync(3000);
    expect(published).toEqual(Array.from({ length: 5 }, () => '["resp_1"]'));
    await remoteJobs.stop();
  } finally {
    vi.useRealTimers();
  }
});

test("RESP-04 an instance that was disconnected receives the cancellation after it reconnects", async () => {
  const board = memoryCoordinationStore(systemClock, systemTimers);
  let published = 0;
  const subscribe: typeof board.subscribe = (topic, listener) =>
    board.subscribe(topic, (message) => {
      published += 1;
      if (published > 1) listener(message);
    });
  const clock = { ...systemClock, nowMs: () => 2000 };
  const shared = { store, clock, warn: () => undefined, resume: async () => undefined };
  const fleetOf = (id: string) => ({ fleet: { id, isLeader: false } });
  const works = new RemoteJobs({ ...shared, ...fleetOf("works"), jobs, board: { ...board, subscribe } });
  const asks = new RemoteJobs({
    ...shared,
    ...fleetOf("asks"),
    jobs: jobsWith(store),
    board,
  });
  const job = await queued();
  job.sink.onDisconnect(() => void jobs.finish(job, undefined));
  await asks.end("ws_1", "resp_1");
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "cancelled" });
  await Promise.all([works.stop(), asks.stop()]);
});

test("RESP-05 the begin mark is stored at once, even without stored events", async () => {
  const polled = new BackgroundJob(storedResponse("resp_1", { status: "queued", background: "polled" }));
  await jobs.open(polled, REQUEST);
  const answering = async () => (await store.unfinished())[0]?.hasStartedAnswering;
  expect(await answering()).toBe(false);
  const mark = store.markAnswering;
  let away = 1;
  store.markAnswering = (id) => (away-- > 0 ? Promise.reject(new Error("the store is away")) : mark(id));
  polled.sink.start(200, {});
  await expect.poll(answering).toBe(true);
  polled.cancel();
  await jobs.finish(polled, undefined);
});

test("RESP-04 a job cancelled before it begins does not begin", async () => {
  const job = await queued();
  await store.cancel("ws_1", "resp_1");
  await jobs.begin(job);
  expect(job.sink.disconnected).toBe(true);
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "cancelled", runs: 0 });
});

test("RESP-04 BILL-03 cancelling an orphan ends it and its hold; a silent instance's job is marked", async () => {
  const request = { status: "in_progress", background: "streamed" } as const;
  for (const id of ["resp_1", "resp_2", "resp_3"]) await store.add(storedResponse(id, request), REQUEST);
  await store.appendEvents(runOf("resp_1"), [{ sequence: 0, text: "event: response.created\ndata: {}\n\n" }]);
  const clock = { ...systemClock, nowMs: () => 2000 };
  // Told and waited for, without the seconds.
  let elapsedMs = 0;
  const hurried = { ...clock, monotonicMs: () => (elapsedMs += 1000) };
  const board = memoryCoordinationStore(systemClock, systemTimers);
  await board.put("working:silent", JSON.stringify(["resp_2"]), 20_000);
  const fleet = { id: "asks", isLeader: false };
  const resume = async () => undefined;
  const remoteJobs = new RemoteJobs({ board, fleet, store, clock: hurried, jobs, warn: () => undefined, resume });
  const state = memoryState(clock);
  await state.credit("ws_1", 7n);
  const hold = { workspaceId: "ws_1", keyId: "key_1", memberId: null, atMs: 2000, limits: [] };
  for (const [requestId, nanos] of [
    ["resp_1", 1n],
    ["resp_2", 2n],
    ["resp_3", 4n],
  ] as const)
    await state.hold({ ...hold, requestId, nanos });
  const ending = { jobs, store, clock, gateway: { state } };
  await endWork({ ...ending, remoteJobs }, "ws_1", "resp_1");
  await endWork({ ...ending, remoteJobs }, "ws_1", "resp_2");
  // A single instance: no other run can exist.
  await endWork(ending, "ws_1", "resp_3");
  expect(await state.wallet("ws_1")).toEqual({ balanceNanos: 7n, heldNanos: 2n });
  const [one, two, three] = await Promise.all(["resp_1", "resp_2", "resp_3"].map((id) => store.find("ws_1", id, 2000)));
  expect([one?.status, two?.status, three?.status]).toEqual(["cancelled", "in_progress", "cancelled"]);
  expect(one?.response).toMatchObject({ status: "cancelled", error: null });
  const events = await store.events("ws_1", "resp_1", 0);
  expect(events).toMatchObject([{ sequence: 1, text: expect.stringContaining("event: response.cancelled\n") }]);
  expect(await store.unfinished()).toMatchObject([{ id: "resp_2", isCancelled: true }]);
  await remoteJobs.stop();
});

test("RESP-04 a job cancelled, ended or deleted elsewhere stops at the next periodic check", async () => {
  const ids = ["resp_off", "resp_over", "resp_gone", "resp_new", "resp_fine"];
  const made = ids.map((id) => new BackgroundJob(storedResponse(id, { status: "queued", background: "polled" })));
  for (const job of made) {
    await jobs.open(job, REQUEST);
    if (job.stored.id !== "resp_new") await jobs.begin(job);
  }
  await store.cancel("ws_1", "resp_off");
  const { response } = storedResponse("resp_over");
  await store.finish({ id: "resp_over", workspaceId: "ws_1", status: "failed", response, events: [] });
  await store.remove("ws_1", "resp_gone", 2000);
  await store.remove("ws_1", "resp_new", 2000);
  const board = memoryCoordinationStore(systemClock, systemTimers);
  const put = () => Promise.reject(new Error("away"));
  const shared = { board: { ...board, put }, fleet: { id: "one", isLeader: false }, clock: systemClock };
  const deps = { store, jobs, warn: () => undefined, resume: async () => undefined };
  const remoteJobs = new RemoteJobs({ ...shared, ...deps });
  remoteJobs.start();
  const stopped = () => made.filter(({ sink }) => sink.disconnected).map(({ stored }) => stored.id);
  // One that is about to begin is not in the store yet, or finds out when it does.
  await expect.poll(stopped, { timeout: 10_000 }).toEqual(["resp_off", "resp_over", "resp_gone"]);
  await remoteJobs.stop();
  await Promise.all(made.map((job) => jobs.finish(job, undefined)));
  expect(await store.find("ws_1", "resp_off", 2000)).toMatchObject({ status: "cancelled" });
}, 15_000);

test("RESP-04 RESP-05 a job resumed by another instance stops and leaves record, hold and end to it", async () => {
  const job = await begun();
  expect(await store.startRun("resp_1")).toEqual({ is: "started", run: 2 });
  const reader = new SlowSink();
  reader.hurry();
  const followed = followJob({ store, keepAliveMs: 1000 }, job, reader, -1, {});
  await jobs.stopUnwanted();
  expect([job.sink.disconnected, jobs.isUnrecorded("resp_1"), jobs.isTakenOver("resp_1")]).toEqual([true, true, true]);
  await followed;
  // Who follows it hears that it is to be followed remoteJobs.
  expect([reader.numbers, reader.ended]).toEqual([[0, 1, 2], "whole"]);
  await jobs.finish(job, undefined);
  expect(jobs.ids).toEqual([]);
  expect(await store.unfinished()).toMatchObject([{ id: "resp_1", status: "in_progress", runs: 2, request: REQUEST }]);
});

test("RESP-04 CHAT-10 followers of a remote job get keep-alives", async () => {
  const stored = storedResponse("resp_1", { status: "in_progress", background: "streamed" });
  await store.add(stored);
  await store.appendEvents(runOf("resp_1"), [{ sequence: 0, text: 'data: {"sequence_number":0}\n\n' }]);
  const reader = new SlowSink();
  reader.hurry();
  let elapsedMs = 0;
  const looksAtMs = [1000, 1999, 2000, 2001, 2002];
  const signs: number[] = [];
  const find: ResponseStore["find"] = (...place) => {
    signs.push(reader.signs);
    elapsedMs = looksAtMs[signs.length - 1] ?? 0;
    const isLast = signs.length === looksAtMs.length;
    return isLast ? Promise.resolve(storedResponse("resp_1")) : store.find(...place);
  };
  const clock = { nowMs: () => 2000, monotonicMs: () => elapsedMs };
  const watched = { find, events: store.events.bind(store) };
  await followStored({ store: { ...store, ...watched }, keepAliveMs: 1000, clock }, stored, reader, -1, {});
  expect([reader.numbers, signs, reader.ended]).toEqual([[0], [0, 0, 0, 1, 1], "whole"]);
});

const MIB = 1024 * 1024;
/** Longer events are read in event-loop turns. */
const SHORT = 60 * 1024;

/** An event of about so many characters. */
const delta = (chars: number) =>
  `event: response.output_text.delta\ndata: ${JSON.stringify({ type: "response.output_text.delta", delta: "x".repeat(chars) })}\n\n`;

test("RESP-04 a job buffers about 1 MiB of events and applies backpressure until they are stored", async () => {
  const job = await begun();
  let written = 0;
  while (job.sink.write(delta(SHORT))) written += 1;
  expect(written).toBeLessThan(19);
  await job.sink.drained();
  expect(job.isFull).toBe(false);
  expect(job.eventAt(0)).toBe("stored");
  // Many times what it holds, with a reader that is slower than all of it.
  const reader = new SlowSink();
  const followed = followJob({ store, keepAliveMs: 1000 }, job, reader, 1, {});
  for (let count = written + 1; count < 40; count += 1) if (!job.sink.write(delta(SHORT))) await job.sink.drained();
  const response = { id: "resp_1", status: "completed", created_at: 1, output: [] };
  await job.setReply(JSON.stringify(response));
  job.sink.end(`event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
  await jobs.finish(job, undefined);
  reader.hurry();
  await followed;
  expect(reader.numbers).toEqual(Array.from({ length: 41 }, (_, at) => at + 2));
  expect(reader.ended).toBe("whole");
});

test("RESP-04 the output of a job is limited: all events when streamed, else the reply alone", async () => {
  const [followed, polled] = (["streamed", "polled"] as const).map((background) => {
    const job = new BackgroundJob(storedResponse("resp_1", { status: "queued", background }));
    const filler = JSON.stringify({ type: "response.in_progress", filler: "x".repeat(MIB) });
    for (let count = 0; count < 65; count += 1) job.sink.write(`event: response.in_progress\ndata: ${filler}\n\n`);
    return job;
  });
  for (const job of [followed, polled]) await job?.sink.writing;
  expect([followed?.sink.refusal?.code, polled?.sink.refusal]).toEqual(["upstream_error", undefined]);
  // No client disconnected, so nothing is charged.
  expect(followed?.sink.disconnected).toBe(false);
});

test("RESP-04 a stopped job does not wait for the store", async () => {
  const job = await begun();
  store.appendEvents = () => Promise.reject(new Error("the store is away"));
  while (job.sink.write(delta(SHORT)));
  const context = job.sink.drained();
  job.cancel();
  await context;
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "cancelled" });
});

test("RESP-04 events stored by a failed write do not block the end", async () => {
  const append = store.appendEvents;
  let lost = 0;
  store.appendEvents = async (...events) => {
    await append(...events);
    lost += 1;
    throw new Error("the connection went before the commit was answered");
  };
  const job = await begun();
  await eventually(() => expect(lost).toBe(1));
  const response = { id: "resp_1", status: "completed", created_at: 1, output: [] };
  await job.setReply(JSON.stringify(response));
  job.sink.end(`event: response.completed\ndata: ${JSON.stringify({ type: "response.completed", response })}\n\n`);
  await jobs.finish(job, undefined);
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "completed" });
  expect((await store.events("ws_1", "resp_1", -1)).map(({ sequence }) => sequence)).toEqual([0, 1, 2]);
});

test("RESP-04 RESP-05 a response refused after a failed insert is not resumed later", async () => {
  const { add, finish } = store;
  store.add = async (...row) => {
    await add(...row);
    throw new Error("the connection went before the commit was answered");
  };
  let away = 1;
  store.finish = (end) => (away-- > 0 ? Promise.reject(new Error("the store is away")) : finish(end));
  await expect(queued()).rejects.toMatchObject({ code: "service_unavailable" });
  expect(jobs.ids).toEqual([]);
  await expect.poll(() => store.unfinished()).toEqual([]);
  const error = { code: "service_unavailable" };
  expect(await store.find("ws_1", "resp_1", 2000)).toMatchObject({ status: "failed", response: { error } });
});

test("RESP-04 cancelling all jobs of a workspace does not wait for refused ones", async () => {
  const away = Promise.withResolvers<never>();
  store.add = () => away.promise;
  const refused = expect(queued()).rejects.toMatchObject({ code: "service_unavailable" });
  const ended = jobs.cancelAll("ws_1");
  away.reject(new Error("the store is away"));
  await refused;
  await ended;
});

test("RESP-05 under new zero data retention events are dropped and late followers are disconnected", async () => {
  jobs = jobsWith(store, { mayKeep: () => false });
  const job = await begun();
  while (job.sink.write(delta(SHORT)));
  await job.sink.drained();
  const reader = new SlowSink();
  reader.hurry();
  await followJob({ store, keepAliveMs: 1000 }, job, reader, -1, {});
  expect([reader.numbers, reader.ended]).toEqual([[], "cut"]);
  await jobs.finish(job, undefined);
});

/** A client that reads one event, and the next only on request. */
class SlowSink implements ResponseSink {
  readonly numbers: number[] = [];
  signs = 0;
  readonly #hurry = Promise.withResolvers<void>();
  started = false;
  readonly disconnected = false;
  ended: "no" | "whole" | "cut" = "no";

  hurry(): void {
    this.#hurry.resolve();
  }

  start(): void {
    this.started = true;
  }

  write(chunk: Buffer | string): boolean {
    const number = /"sequence_number":(\d+)/.exec(String(chunk))?.[1];
    if (number !== undefined) this.numbers.push(Number(number));
    if (chunk === ": keep-alive\n\n") this.signs += 1;
    return false;
  }

  drained(): Promise<void> {
    return this.#hurry.promise;
  }

  end(): void {
    this.ended = "whole";
  }

  abort(): void {
    this.ended = "cut";
  }

  onDisconnect(): void {}
}

import { setImmediate as nextTick } from "node:timers/promises";
import { expect, test } from "vitest";
import { eventually } from "../../../tests/support/eventually.ts";
import { systemClock } from "../../kit/clock.ts";
import type { StartupInfo } from "./rpc-protocol.ts";
import { type WorkerProcess, WorkerSupervisor } from "./worker-supervisor.ts";

const STARTUP: StartupInfo = { origin: "http://127.0.0.1:1", firstKey: null, setupLink: null };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

type FakeWorker = WorkerProcess & {
  becomeReady(): void;
  exit(status?: string): void;
  readonly hasExited: boolean;
  readonly keptIdleConnections: boolean | undefined;
};

function fakeWorker(slot: number): FakeWorker {
  const ready = Promise.withResolvers<StartupInfo>();
  const exited = Promise.withResolvers<string>();
  let hasExited = false;
  const exit = (status = "SIGKILL") => {
    hasExited = true;
    ready.reject(new Error("exited"));
    exited.resolve(status);
  };
  let keptIdleConnections: boolean | undefined;
  const drain: WorkerProcess["drain"] = ({ keepIdleConnections }) => {
    keptIdleConnections = keepIdleConnections;
    exit("exit code 0");
  };
  ready.promise.catch(() => undefined);
  return {
    ...{ slot, pid: slot, ready: ready.promise, exited: exited.promise, drain, kill: () => exit(), exit },
    becomeReady: () => ready.resolve(STARTUP),
    get hasExited() {
      return hasExited;
    },
    get keptIdleConnections() {
      return keptIdleConnections;
    },
  };
}

test("SCALE-04 a worker that crashes while its replacement starts is replaced once: the count stays right", async () => {
  const spawned: FakeWorker[] = [];
  let starts: "immediately" | "later" = "immediately";
  const spawn = (slot: number) => {
    const worker = fakeWorker(slot);
    spawned.push(worker);
    if (starts === "immediately") worker.becomeReady();
    return worker;
  };
  const deps = { recover: async () => "recovered" as const, clock: systemClock, log: QUIET, exitTimeoutMs: 60_000 };
  const supervisor = new WorkerSupervisor({ ...deps, count: 2, spawn });
  await supervisor.start(() => undefined);
  starts = "later";
  const restarted = supervisor.restart();
  await eventually(() => expect(spawned).toHaveLength(3));
  spawned[0]?.exit();
  await eventually(() => expect(spawned).toHaveLength(4));
  starts = "immediately";
  for (const worker of spawned) worker.becomeReady();
  await restarted;
  expect(spawned.filter(({ hasExited }) => !hasExited)).toHaveLength(2);
  await supervisor.stop();
  expect(spawned.every(({ hasExited }) => hasExited)).toBe(true);
});

test("SCALE-04 a rolling restart drains a worker once its replacement is ready, one by one, and aborts when one does not start", async () => {
  const spawned: FakeWorker[] = [];
  const spawn = (slot: number) => {
    const worker = fakeWorker(slot);
    spawned.push(worker);
    return worker;
  };
  const exitedIndexes = () => spawned.flatMap(({ hasExited }, at) => (hasExited ? [at] : []));
  /** Waits for the next worker, checks that no other has exited for it, and makes it ready. */
  const expectSpawned = async (number: number, before: readonly number[]) => {
    await eventually(() => expect(spawned).toHaveLength(number));
    for (let tick = 0; tick < 20; tick += 1) await nextTick();
    expect([spawned.length, exitedIndexes()]).toEqual([number, before]);
    spawned.at(-1)?.becomeReady();
  };
  const deps = { recover: async () => "recovered" as const, clock: systemClock, log: QUIET, exitTimeoutMs: 60_000 };
  const supervisor = new WorkerSupervisor({ ...deps, count: 2, spawn });
  const started = supervisor.start(() => undefined);
  await expectSpawned(1, []);
  await expectSpawned(2, []);
  await started;
  const restarted = supervisor.restart();
  await expectSpawned(3, []);
  await expectSpawned(4, [0]);
  void supervisor.restart();
  await expectSpawned(5, [0, 1]);
  await expectSpawned(6, [0, 1, 2]);
  await restarted;
  expect(exitedIndexes()).toEqual([0, 1, 2, 3]);
  const again = supervisor.restart();
  await eventually(() => expect(spawned).toHaveLength(7));
  spawned[6]?.exit();
  await again;
  expect(exitedIndexes()).toEqual([0, 1, 2, 3, 6]);
  await supervisor.stop();
  // Idle connections are kept only while other workers serve.
  expect(spawned.map(({ keptIdleConnections }) => keptIdleConnections)).toEqual([
    true,
    true,
    true,
    true,
    false,
    false,
    undefined,
  ]);
});

test("SCALE-04 OPS-01 a worker that exceeds its exit timeout is killed", async () => {
  const worker = fakeWorker(1);
  worker.becomeReady();
  const deps = { recover: async () => "recovered" as const, clock: systemClock, log: QUIET, exitTimeoutMs: 1 };
  const supervisor = new WorkerSupervisor({ ...deps, count: 1, spawn: () => ({ ...worker, drain: () => undefined }) });
  await supervisor.start(() => undefined);
  await supervisor.stop();
  expect(worker.hasExited).toBe(true);
});

test("SCALE-04 BILL-07 a crashed worker is replaced in its slot, even if the first replacement does not start", async () => {
  const spawned: FakeWorker[] = [];
  const spawn = (slot: number) => {
    const worker = fakeWorker(slot);
    spawned.push(worker);
    if (spawned.length === 3) worker.exit();
    else worker.becomeReady();
    return worker;
  };
  let nowMs = 0;
  const clock = { ...systemClock, monotonicMs: () => nowMs };
  const deps = { recover: async () => "deferred" as const, clock, log: QUIET, exitTimeoutMs: 60_000 };
  const supervisor = new WorkerSupervisor({ ...deps, count: 2, spawn });
  await supervisor.start(() => undefined);
  // Only an early exit delays the replacement.
  nowMs = 3_600_000;
  spawned[1]?.exit();
  await eventually(() => expect(spawned.map(({ slot }) => slot)).toEqual([1, 2, 2, 2]));
  await supervisor.stop();
});

/** Workers are ready at once, except those with the given numbers in spawn order. */
function superviseWith(late: readonly number[], backoffBaseMs: number) {
  const spawned: FakeWorker[] = [];
  const spawn = (slot: number) => {
    const worker = fakeWorker(slot);
    if (!late.includes(spawned.push(worker))) worker.becomeReady();
    return worker;
  };
  const deps = { recover: async () => "deferred" as const, clock: systemClock, log: QUIET, exitTimeoutMs: 60_000 };
  return { spawned, supervisor: new WorkerSupervisor({ ...deps, count: 2, spawn, backoffBaseMs }) };
}

const slotsOf = (workers: readonly FakeWorker[]) => workers.map(({ slot }) => slot);

async function settle(): Promise<void> {
  for (let tick = 0; tick < 100; tick += 1) await nextTick();
}

test("SCALE-04 a restart waits for a replacement that is still starting: the count stays right", async () => {
  const { spawned, supervisor } = superviseWith([3], 1);
  await supervisor.start(() => undefined);
  spawned[1]?.exit();
  await eventually(() => expect(slotsOf(spawned)).toEqual([1, 2, 2]));
  const restarted = supervisor.restart();
  await settle();
  spawned[2]?.becomeReady();
  await restarted;
  await settle();
  expect(spawned.filter(({ hasExited }) => !hasExited)).toHaveLength(2);
  expect(spawned.slice(0, 3).every(({ hasExited }) => hasExited)).toBe(true);
  await supervisor.stop();
});

test("SCALE-04 a restart waits for the start of the first worker", async () => {
  const { spawned, supervisor } = superviseWith([1], 1);
  const started = supervisor.start(() => undefined);
  const restarted = supervisor.restart();
  await settle();
  expect(spawned).toHaveLength(1);
  spawned[0]?.becomeReady();
  await Promise.all([started, restarted]);
  expect(spawned.filter(({ hasExited }) => !hasExited)).toHaveLength(2);
  await supervisor.stop();
});

test("SCALE-04 BILL-07 a restart does not use a slot whose replacement waits for its backoff", async () => {
  const { spawned, supervisor } = superviseWith([3], 30_000);
  await supervisor.start(() => undefined);
  spawned[1]?.exit();
  await eventually(() => expect(slotsOf(spawned)).toEqual([1, 2, 2]));
  spawned[2]?.exit();
  await settle();
  await supervisor.restart();
  expect(slotsOf(spawned)).toEqual([1, 2, 2, 3]);
  await supervisor.stop();
});

test.each([
  ["crashes", "SIGKILL", [1, 2, 3, 3]],
  ["cannot start", "exit code 1", [1, 2, 3]],
  ["cannot run its program", "exit code -2", [1, 2, 3]],
] as const)(
  "SCALE-04 BILL-07 a new worker of a restart %s: only a crash may leave work, and gets a recovery worker",
  async (_, exitStatus, slots) => {
    const { spawned, supervisor } = superviseWith([3], 1);
    await supervisor.start(() => undefined);
    const restarted = supervisor.restart();
    await eventually(() => expect(spawned).toHaveLength(3));
    spawned[2]?.exit(exitStatus);
    await restarted;
    await settle();
    expect(slotsOf(spawned)).toEqual(slots);
    expect(slotsOf(spawned.filter(({ hasExited }) => !hasExited))).toEqual([1, 2]);
    await supervisor.stop();
  },
);

test("SCALE-04 OPS-01 when the system cannot create a process, the replacement is retried and the reason logged", async () => {
  const lines: object[] = [];
  const spawned: FakeWorker[] = [];
  let tries = 0;
  const spawn = (slot: number) => {
    tries += 1;
    if (tries === 3) throw new Error("ENOMEM");
    const worker = fakeWorker(slot);
    spawned.push(worker);
    worker.becomeReady();
    return worker;
  };
  const log = { ...QUIET, error: (detail: object) => void lines.push(detail) };
  const deps = {
    recover: async () => "deferred" as const,
    clock: systemClock,
    exitTimeoutMs: 60_000,
    backoffBaseMs: 1,
  };
  const supervisor = new WorkerSupervisor({ ...deps, count: 2, spawn, log });
  await supervisor.start(() => undefined);
  spawned[1]?.exit();
  await eventually(() => expect(slotsOf(spawned)).toEqual([1, 2, 2]));
  expect(lines).toContainEqual({ worker: 2, err: new Error("ENOMEM") });
  await supervisor.stop();
});

test("SCALE-04 no worker starts in a slot whose folder is being recovered", async () => {
  const slots: number[] = [];
  const spawn = (slot: number) => {
    slots.push(slot);
    const worker = fakeWorker(slot);
    worker.becomeReady();
    return worker;
  };
  const deps = { recover: async () => "recovered" as const, clock: systemClock, log: QUIET, exitTimeoutMs: 60_000 };
  const supervisor = new WorkerSupervisor({ ...deps, count: 2, spawn, isSlotReserved: (slot) => slot === 2 });
  await supervisor.start(() => undefined);
  expect(slots).toEqual([1, 3]);
  await supervisor.stop();
});

test.each([
  ["deferred", [1, 2, 1]],
  ["recovered", [1, 2]],
] as const)(
  "SCALE-03 BILL-07 a worker crashed while draining, its recovery is %s: slots used are %j",
  async (recovery, slots) => {
    const spawned: FakeWorker[] = [];
    const spawn = (slot: number): WorkerProcess => {
      const worker = fakeWorker(slot);
      spawned.push(worker);
      worker.becomeReady();
      return spawned.length === 1 ? { ...worker, drain: () => worker.exit() } : worker;
    };
    const deps = { recover: async () => recovery, clock: systemClock, log: QUIET, exitTimeoutMs: 60_000 };
    const supervisor = new WorkerSupervisor({ ...deps, count: 1, spawn });
    await supervisor.start(() => undefined);
    await supervisor.restart();
    await eventually(() => expect(spawned.map(({ slot }) => slot)).toEqual(slots));
    // The recovery worker has exited.
    await eventually(() => expect(spawned.filter(({ hasExited }) => !hasExited).map(({ slot }) => slot)).toEqual([2]));
    await supervisor.stop();
    expect(spawned).toHaveLength(slots.length);
  },
);

test.each(["exits with unflushed work", "does not start"] as const)(
  "SCALE-03 OPS-01 a recovery worker that %s is retried with a backoff, and both failures are logged",
  async (fate) => {
    const lines: [detail: object, message: string][] = [];
    const error = (detail: object, message: string) => void lines.push([detail, message]);
    const spawned: FakeWorker[] = [];
    const spawn = (slot: number): WorkerProcess => {
      const worker = fakeWorker(slot);
      const number = spawned.push(worker);
      // Ends an endless loop.
      if (number > 10) return worker;
      if (number === 3 && fate === "does not start") worker.exit();
      else worker.becomeReady();
      return slot === 1 ? { ...worker, drain: () => worker.exit() } : worker;
    };
    const deps = { recover: async () => "deferred" as const, clock: systemClock, exitTimeoutMs: 60_000 };
    const supervisor = new WorkerSupervisor({
      ...deps,
      count: 1,
      spawn,
      log: { ...QUIET, error },
      backoffBaseMs: 30_000,
    });
    await supervisor.start(() => undefined);
    await supervisor.restart();
    await eventually(() => expect(lines).toHaveLength(2));
    await settle();
    expect(spawned.map(({ slot }) => slot)).toEqual([1, 2, 1]);
    const line = [
      { worker: 1, pid: 1, exitStatus: "SIGKILL" },
      "workers: exited with unflushed work, starting recovery",
    ];
    expect(lines).toEqual([line, line]);
    // The slot stays reserved meanwhile, and a restart does not wait for it.
    await supervisor.restart();
    expect(spawned.map(({ slot }) => slot)).toEqual([1, 2, 1, 3]);
    await supervisor.stop();
  },
);

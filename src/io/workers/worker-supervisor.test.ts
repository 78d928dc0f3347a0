import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test, vi } from "vitest";
import { systemClock } from "../../kit/clock.ts";
import type { StartupInfo } from "./rpc-protocol.ts";
import { type WorkerProcess, WorkerSupervisor } from "./worker-supervisor.ts";

const UP: StartupInfo = { origin: "http://127.0.0.1:1", firstKey: null, setupLink: null };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

type Made = WorkerProcess & {
  serve(): void;
  die(how?: string): void;
  readonly isGone: boolean;
  readonly lingered: string | undefined;
};

/** A worker that serves when it is told to, and ends when it is told to go. */
function handOf(slot: number): Made {
  const ready = Promise.withResolvers<StartupInfo>();
  const gone = Promise.withResolvers<string>();
  let isGone = false;
  const end = (how: string) => {
    isGone = true;
    ready.reject(new Error("it ended"));
    gone.resolve(how);
  };
  const die = (how = "SIGKILL") => end(how);
  let lingered: string | undefined;
  const drain = (lingering: string) => {
    lingered = lingering;
    end("exit code 0");
  };
  ready.promise.catch(() => undefined);
  return {
    ...{ slot, pid: slot, ready: ready.promise, exited: gone.promise, drain, kill: () => die(), die },
    serve: () => ready.resolve(UP),
    get isGone() {
      return isGone;
    },
    get lingered() {
      return lingered;
    },
  };
}

test("SCALE-04 a worker that dies while its successor starts is replaced once: there are as many as there shall be", async () => {
  const hired: Made[] = [];
  let starts: "at once" | "in its time" = "at once";
  const spawn = (slot: number) => {
    const hand = handOf(slot);
    hired.push(hand);
    if (starts === "at once") hand.serve();
    return hand;
  };
  const deps = { bury: async () => "booked" as const, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
  const crew = new WorkerSupervisor({ ...deps, count: 2, spawn });
  await crew.start(() => undefined);
  starts = "in its time";
  const restarted = crew.restart();
  await vi.waitFor(() => expect(hired).toHaveLength(3));
  hired[0]?.die();
  await vi.waitFor(() => expect(hired).toHaveLength(4));
  starts = "at once";
  for (const hand of hired) hand.serve();
  await restarted;
  expect(hired.filter(({ isGone }) => !isGone)).toHaveLength(2);
  await crew.stop();
  expect(hired.every(({ isGone }) => isGone)).toBe(true);
});

test("SCALE-04 a worker is told to go when another serves in its place, one at a time, and once more where that was asked for meanwhile; one that does not start leaves all as it is", async () => {
  const hired: Made[] = [];
  const spawn = (slot: number) => {
    const hand = handOf(slot);
    hired.push(hand);
    return hand;
  };
  const gone = () => hired.flatMap(({ isGone }, at) => (isGone ? [at] : []));
  /** The next one is there, and serves once it was seen that nobody has gone for it. */
  const serves = async (number: number, before: readonly number[]) => {
    await vi.waitFor(() => expect(hired).toHaveLength(number));
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect([hired.length, gone()]).toEqual([number, before]);
    hired.at(-1)?.serve();
  };
  const deps = { bury: async () => "booked" as const, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
  const crew = new WorkerSupervisor({ ...deps, count: 2, spawn });
  const started = crew.start(() => undefined);
  await serves(1, []);
  await serves(2, []);
  await started;
  const restarted = crew.restart();
  await serves(3, []);
  await serves(4, [0]);
  void crew.restart();
  await serves(5, [0, 1]);
  await serves(6, [0, 1, 2]);
  await restarted;
  expect(gone()).toEqual([0, 1, 2, 3]);
  const again = crew.restart();
  await vi.waitFor(() => expect(hired).toHaveLength(7));
  hired[6]?.die();
  await again;
  expect(gone()).toEqual([0, 1, 2, 3, 6]);
  await crew.stop();
  // Only where others serve on do connections that are idle wait for their clients.
  expect(hired.map(({ lingered }) => lingered)).toEqual(["yes", "yes", "yes", "yes", "no", "no", undefined]);
});

test("SCALE-04 OPS-01 a worker that does not end in its time is killed", async () => {
  const hand = handOf(1);
  hand.serve();
  const deps = { bury: async () => "booked" as const, clock: systemClock, log: QUIET, endsWithinMs: 1 };
  const crew = new WorkerSupervisor({ ...deps, count: 1, spawn: () => ({ ...hand, drain: () => undefined }) });
  await crew.start(() => undefined);
  await crew.stop();
  expect(hand.isGone).toBe(true);
});

test("SCALE-04 BILL-07 a worker that died is replaced in its slot, also where the first replacement does not start", async () => {
  const hired: Made[] = [];
  const spawn = (slot: number) => {
    const hand = handOf(slot);
    hired.push(hand);
    if (hired.length === 3) hand.die();
    else hand.serve();
    return hand;
  };
  let elapsedMs = 0;
  const clock = { ...systemClock, monotonicMs: () => elapsedMs };
  const deps = { bury: async () => "left" as const, clock, log: QUIET, endsWithinMs: 60_000 };
  const crew = new WorkerSupervisor({ ...deps, count: 2, spawn });
  await crew.start(() => undefined);
  // One that dies soon after its start is replaced after a pause.
  elapsedMs = 3_600_000;
  hired[1]?.die();
  await vi.waitFor(() => expect(hired.map(({ slot }) => slot)).toEqual([1, 2, 2, 2]));
  await crew.stop();
});

/** Workers that the test lets serve or die; those in the given places of the order they came in do not serve at once. */
function crewOf(late: readonly number[], backoffBaseMs: number) {
  const hired: Made[] = [];
  const spawn = (slot: number) => {
    const hand = handOf(slot);
    if (!late.includes(hired.push(hand))) hand.serve();
    return hand;
  };
  const deps = { bury: async () => "left" as const, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
  return { hired, crew: new WorkerSupervisor({ ...deps, count: 2, spawn, backoffBaseMs }) };
}

const slotsOf = (hands: readonly Made[]) => hands.map(({ slot }) => slot);

async function turns(): Promise<void> {
  for (let turn = 0; turn < 100; turn += 1) await nextTurn();
}

test("SCALE-04 a restart while a replacement still starts waits for it: there are as many as there shall be", async () => {
  const { hired, crew } = crewOf([3], 1);
  await crew.start(() => undefined);
  hired[1]?.die();
  await vi.waitFor(() => expect(slotsOf(hired)).toEqual([1, 2, 2]));
  const restarted = crew.restart();
  await turns();
  hired[2]?.serve();
  await restarted;
  await turns();
  expect(hired.filter(({ isGone }) => !isGone)).toHaveLength(2);
  expect(hired.slice(0, 3).every(({ isGone }) => isGone)).toBe(true);
  await crew.stop();
});

test("SCALE-04 a restart while the very first worker still starts follows its start", async () => {
  const { hired, crew } = crewOf([1], 1);
  const started = crew.start(() => undefined);
  const restarted = crew.restart();
  await turns();
  expect(hired).toHaveLength(1);
  hired[0]?.serve();
  await Promise.all([started, restarted]);
  expect(hired.filter(({ isGone }) => !isGone)).toHaveLength(2);
  await crew.stop();
});

test("SCALE-04 BILL-07 while the replacement of a worker that died waits for its turn, a restart leaves its slot to it", async () => {
  const { hired, crew } = crewOf([3], 30_000);
  await crew.start(() => undefined);
  hired[1]?.die();
  await vi.waitFor(() => expect(slotsOf(hired)).toEqual([1, 2, 2]));
  hired[2]?.die();
  await turns();
  await crew.restart();
  expect(slotsOf(hired)).toEqual([1, 2, 2, 3]);
  await crew.stop();
});

test.each([
  ["is killed", "SIGKILL", [1, 2, 3, 3]],
  ["cannot start", "exit code 1", [1, 2, 3]],
  ["has no program that can be run", "exit code -2", [1, 2, 3]],
] as const)(
  "SCALE-04 BILL-07 a new worker of a restart %s: it may have taken up work if it did not end by itself, and another comes for that",
  async (_, how, slots) => {
    const { hired, crew } = crewOf([3], 1);
    await crew.start(() => undefined);
    const restarted = crew.restart();
    await vi.waitFor(() => expect(hired).toHaveLength(3));
    hired[2]?.die(how);
    await restarted;
    await turns();
    expect(slotsOf(hired)).toEqual(slots);
    expect(slotsOf(hired.filter(({ isGone }) => !isGone))).toEqual([1, 2]);
    await crew.stop();
  },
);

test("SCALE-04 OPS-01 where the machine has no process to give, the replacement of a worker is tried again, and the log says why", async () => {
  const lines: object[] = [];
  const hired: Made[] = [];
  let tries = 0;
  const spawn = (slot: number) => {
    tries += 1;
    if (tries === 3) throw new Error("ENOMEM");
    const hand = handOf(slot);
    hired.push(hand);
    hand.serve();
    return hand;
  };
  const log = { ...QUIET, error: (detail: object) => void lines.push(detail) };
  const deps = { bury: async () => "left" as const, clock: systemClock, endsWithinMs: 60_000, backoffFirstMs: 1 };
  const crew = new WorkerSupervisor({ ...deps, count: 2, spawn, log });
  await crew.start(() => undefined);
  hired[1]?.die();
  await vi.waitFor(() => expect(slotsOf(hired)).toEqual([1, 2, 2]));
  expect(lines).toContainEqual({ worker: 2, err: new Error("ENOMEM") });
  await crew.stop();
});

test("SCALE-04 nobody is hired for a slot whose folder another is at", async () => {
  const slots: number[] = [];
  const spawn = (slot: number) => {
    slots.push(slot);
    const hand = handOf(slot);
    hand.serve();
    return hand;
  };
  const deps = { bury: async () => "booked" as const, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
  const crew = new WorkerSupervisor({ ...deps, count: 2, spawn, isSlotReserved: (slot) => slot === 2 });
  await crew.start(() => undefined);
  expect(slots).toEqual([1, 3]);
  await crew.stop();
});

test.each([
  ["left", [1, 2, 1]],
  ["booked", [1, 2]],
] as const)(
  "SCALE-03 BILL-07 a worker was killed while it left, and what it had is %s: workers were in %j",
  async (buried, slots) => {
    const hired: Made[] = [];
    const spawn = (slot: number): WorkerProcess => {
      const hand = handOf(slot);
      hired.push(hand);
      hand.serve();
      return hired.length === 1 ? { ...hand, drain: () => hand.die() } : hand;
    };
    const deps = { bury: async () => buried, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
    const crew = new WorkerSupervisor({ ...deps, count: 1, spawn });
    await crew.start(() => undefined);
    await crew.restart();
    await vi.waitFor(() => expect(hired.map(({ slot }) => slot)).toEqual(slots));
    // Whoever followed it has left again.
    await vi.waitFor(() => expect(hired.filter(({ isGone }) => !isGone).map(({ slot }) => slot)).toEqual([2]));
    await crew.stop();
    expect(hired).toHaveLength(slots.length);
  },
);

test.each(["ends with something left", "does not start"] as const)(
  "SCALE-03 OPS-01 whoever comes after a worker that left something and %s is not tried again at once, and the log says so",
  async (fate) => {
    const lines: [detail: object, message: string][] = [];
    const error = (detail: object, message: string) => void lines.push([detail, message]);
    const hired: Made[] = [];
    const spawn = (slot: number): WorkerProcess => {
      const hand = handOf(slot);
      const number = hired.push(hand);
      // An end to who comes again and again.
      if (number > 10) return hand;
      if (number === 3 && fate === "does not start") hand.die();
      else hand.serve();
      return slot === 1 ? { ...hand, drain: () => hand.die() } : hand;
    };
    const deps = { bury: async () => "left" as const, clock: systemClock, endsWithinMs: 60_000 };
    const crew = new WorkerSupervisor({ ...deps, count: 1, spawn, log: { ...QUIET, error }, backoffBaseMs: 30_000 });
    await crew.start(() => undefined);
    await crew.restart();
    await vi.waitFor(() => expect(lines).toHaveLength(2));
    await turns();
    expect(hired.map(({ slot }) => slot)).toEqual([1, 2, 1]);
    const line = [
      { worker: 1, pid: 1, how: "SIGKILL" },
      "what a worker left is not booked yet: another one comes for it",
    ];
    expect(lines).toEqual([line, line]);
    // Nobody comes into its place meanwhile, and nobody waits for the next one.
    await crew.restart();
    expect(hired.map(({ slot }) => slot)).toEqual([1, 2, 1, 3]);
    await crew.stop();
  },
);

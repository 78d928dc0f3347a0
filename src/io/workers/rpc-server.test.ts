import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { HoldRequest } from "../../domain/admission/shared-state.ts";
import { systemTimers } from "../../kit/timers.ts";
import { memoryState } from "../state/memory-state.ts";
import { primaryCoordinationStore } from "./board.ts";
import { memoryCoordinationStore } from "./memory-coordination-store.ts";
import { ReservationRegistry } from "./reservation-registry.ts";
import { PrimaryRpcClient } from "./rpc-client.ts";
import { type RecordedOutcomes, WorkerRpcServer } from "./rpc-server.ts";
import { primarySharedState } from "./state.ts";
import { versionedState } from "./versioned-state.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);
const EUR = 1_000_000_000n;
const HUGE = 2n ** 70n + 1n;
const clock = { nowMs: () => NOW_MS, monotonicMs: () => 1_000 };

/** A primary process with workers, all of them in this one. */
function crew() {
  let word = 0;
  const state = versionedState(memoryState(clock), () => `v${word++}`);
  const board = memoryCoordinationStore(clock, systemTimers);
  const reservations = new ReservationRegistry<WorkerRpcServer>();
  const desks: WorkerRpcServer[] = [];
  const worker = () => {
    const [here, there] = duplexPair();
    const refused = () => {
      throw new Error("not asked here");
    };
    const desk = new WorkerRpcServer(
      there,
      { state, board, reservations },
      {
        ...{ hello: refused, up: refused, ready: refused, metrics: refused },
        publish: (topic, message) => {
          for (const one of desks) one.tell({ is: "told", topic, message });
        },
      },
    );
    desks.push(desk);
    const primary = new PrimaryRpcClient(here, clock);
    return { desk, state: primarySharedState(primary), board: primaryCoordinationStore(primary) };
  };
  return { state, worker };
}

const holdOf = (requestId: string, nanos: bigint, limits: HoldRequest["limits"] = []): HoldRequest => ({
  ...{ requestId, workspaceId: "ws", keyId: "key", memberId: null, nanos, atMs: NOW_MS, limits },
});
const spentBy = { id: "key", workspaceId: "ws" };

test("SCALE-04 what workers ask through the pipe is answered as it is in one process, to the last nano", async () => {
  const { worker } = crew();
  const { state } = worker();
  const alone = memoryState(clock);
  const limit = { of: "key", per: "day", nanos: 9n * EUR } as const;
  const use = { key: "k", body: "b" };
  const remembered = {
    ...{ ...use, workspaceId: "ws", requestId: "r1", status: 200, nanos: HUGE, currency: "EUR" },
    expiresAtMs: NOW_MS + 1000,
  };
  const steps: ((of: typeof alone) => unknown)[] = [
    (of) => of.credit("ws", HUGE),
    (of) => of.wallet("ws"),
    (of) => of.hold(holdOf("r1", 5n * EUR)),
    (of) => of.hold(holdOf("r2", 2n * HUGE)),
    (of) => of.hold(holdOf("r3", 5n * EUR, [limit])),
    (of) => of.releaseHold({ requestId: "r3", workspaceId: "ws" }),
    (of) => of.wallet("ws"),
    (of) => of.settle({ requestId: "r1", workspaceId: "ws" }, 7n),
    (of) => of.spending(spentBy, NOW_MS),
    (of) => of.restoreSpend([{ workspaceId: "ws", keyId: "key", memberId: null, nanos: HUGE, day: "2026-11-15" }]),
    (of) => of.spending(spentBy, NOW_MS),
    (of) => of.withdraw({ workspaceId: "ws", nanos: 3n, isAllOrNothing: false, reserveNanos: 1n }),
    (of) => of.wallet("ws"),
    (of) => of.claimIdempotencyKey(use, "r1"),
    (of) => of.claimIdempotencyKey(use, "r2"),
    (of) => of.releaseClaim("k", "r2"),
    (of) => of.recordKeyUse(remembered),
    (of) => of.claimIdempotencyKey(use, "r2"),
    (of) => of.sweepHolds(0),
  ];
  for (const step of steps) expect(await step(state)).toEqual(await step(alone));
  const told = await state.consumeRateWindow(spentBy, 1);
  expect(told).toEqual({ ...(await alone.consumeRateWindow(spentBy, 1)), version: "v0" });
  expect(await state.peekRateWindow(spentBy, 1)).toEqual({
    ...(await alone.peekRateWindow(spentBy, 1)),
    version: "v0",
  });
  await expect(state.settle({ requestId: "r", workspaceId: "ws" }, -1n)).rejects.toThrow("would create money");
});

test("SCALE-04 KEY-04 a change that one worker tells of is another version for all at the next call", async () => {
  const { worker } = crew();
  const [one, other] = [worker(), worker()];
  const before = await other.state.peekRateWindow(spentBy, 1);
  const versions = [before.version];
  for (const _ of [1, 2]) {
    await one.state.bumpVersion("ws");
    versions.push((await other.state.peekRateWindow(spentBy, 1)).version);
  }
  expect(new Set(versions).size).toBe(3);
  expect((await other.state.peekRateWindow({ id: "k2", workspaceId: "ws2" }, 1)).version).toBe(before.version);
});

test("SCALE-04 BILL-07 what a dead worker held ends as the books say: charged or given back, and others keep theirs", async () => {
  const { worker } = crew();
  const [dead, alive] = [worker(), worker()];
  await alive.state.credit("ws", 10n * EUR);
  for (const id of ["charged", "lost", "settled"]) await dead.state.hold(holdOf(id, EUR));
  await dead.state.settle({ requestId: "settled", workspaceId: "ws" }, EUR);
  await alive.state.hold(holdOf("other", EUR));
  await dead.state.claimIdempotencyKey({ key: "k1", body: "b" }, "charged");
  await dead.state.claimIdempotencyKey({ key: "k2", body: "b" }, "lost");
  const use = { key: "k1", body: "b", workspaceId: "ws", requestId: "charged", status: 200, currency: "EUR" };
  const booked: RecordedOutcomes = {
    chargedNanos: async (id) => (id === "charged" ? 7n : 0n),
    keyUse: async (key) => (key === "k1" ? { ...use, nanos: 7n, expiresAtMs: NOW_MS + 1000 } : undefined),
    bookedNanos: async () => 0n,
  };
  await dead.desk.leave();
  for (let again = 0; again < 2; again += 1) await dead.desk.release(booked);
  expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 9n * EUR - 7n, heldNanos: EUR });
  expect(await alive.state.claimIdempotencyKey({ key: "k1", body: "b" }, "next")).toMatchObject({ is: "remembered" });
  expect(await alive.state.claimIdempotencyKey({ key: "k2", body: "b" }, "next")).toMatchObject({ is: "claimed" });
});

test.each(["after it had said so", "while it stood still", "and is not buried before that"])(
  "SCALE-04 BILL-07 BILL-09 what another worker has taken up of one that died %s stays with that one, and is charged there",
  async (when) => {
    const { worker } = crew();
    const [dead, alive] = [worker(), worker()];
    const taken = { requestId: "twice", workspaceId: "ws" };
    await alive.state.credit("ws", 10n * EUR);
    const run = async ({ state }: typeof dead) => {
      await state.claimIdempotencyKey({ key: "k", body: "b" }, "twice");
      await state.hold(holdOf("twice", EUR));
    };
    await run(dead);
    if (when !== "and is not buried before that") await run(alive);
    if (when === "after it had said so") await dead.state.handOver(taken);
    await dead.desk.leave();
    await dead.desk.release({
      chargedNanos: async () => {
        await run(alive);
        return 0n;
      },
      keyUse: async () => undefined,
      bookedNanos: async () => 0n,
    });
    expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: EUR });
    expect(await alive.state.claimIdempotencyKey({ key: "k", body: "b" }, "next")).toMatchObject({ is: "running" });
    await alive.state.settle(taken, 7n);
    expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR - 7n, heldNanos: 0n });
  },
);

test("SCALE-04 a lock is one worker's at a time; the next has it when it is let go of, or when its holder died", async () => {
  const { worker } = crew();
  const [one, two, three] = [worker(), worker(), worker()];
  const first = await one.board.acquireLock("name", { ttlMs: 1, waitMs: 0 });
  expect(first?.isHeld).toBe(true);
  expect(await two.board.acquireLock("name", { ttlMs: 1, waitMs: 0 })).toBeUndefined();
  const waiting = two.board.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await first?.release();
  expect(first?.isHeld).toBe(false);
  expect((await waiting)?.isHeld).toBe(true);
  const last = three.board.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await two.desk.leave();
  const held = await last;
  expect(held?.isHeld).toBe(true);
  // Whoever died while it waited is not given it.
  const [dead, next] = [worker(), worker()];
  void dead.board.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await dead.board.get("whatever was asked after it");
  await dead.desk.leave();
  const given = next.board.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await held?.release();
  expect((await given)?.isHeld).toBe(true);
});

test("SCALE-04 facts on the board and what is told there reach every worker", async () => {
  const { worker } = crew();
  const [one, other] = [worker(), worker()];
  const heard: string[] = [];
  const deaf = other.board.subscribe("topic", (message) => heard.push(message));
  one.board.subscribe("topic", (message) => heard.push(message));
  await one.board.put("instance:a", "http://ä", 1000);
  await one.board.put("instance:b", "", 0);
  expect(await other.board.list("instance:")).toEqual(new Map([["a", "http://ä"]]));
  expect(await other.board.get("instance:b")).toBeUndefined();
  await other.board.delete("instance:a");
  expect(await one.board.get("instance:a")).toBeUndefined();
  await one.board.publish("topic", "1");
  await one.board.publish("elsewhere", "2");
  deaf();
  await one.board.publish("topic", "3");
  expect(heard).toEqual(["1", "1", "3"]);
});

import { duplexPair } from "node:stream";
import { expect, test } from "vitest";
import type { HoldRequest } from "../../domain/admission/shared-state.ts";
import { systemTimers } from "../../kit/timers.ts";
import { memoryState } from "../state/memory-state.ts";
import { memoryCoordinationStore } from "./memory-coordination-store.ts";
import { PrimaryRpcClient } from "./rpc-client.ts";
import { type RecordedOutcomes, WorkerRpcServer } from "./rpc-server.ts";
import { ReservationRegistry, versionedState } from "./shared-resources.ts";
import { primaryCoordinationStore, primarySharedState } from "./worker-context.ts";

const NOW_MS = Date.UTC(2026, 10, 15, 12);
const EUR = 1_000_000_000n;
const HUGE = 2n ** 70n + 1n;
const clock = { nowMs: () => NOW_MS, monotonicMs: () => 1_000 };

/** A primary and its workers, all in this process. */
function startPrimary() {
  let versions = 0;
  const state = versionedState(memoryState(clock), () => `v${versions++}`);
  const coordination = memoryCoordinationStore(clock, systemTimers);
  const reservations = new ReservationRegistry<WorkerRpcServer>();
  const servers: WorkerRpcServer[] = [];
  const worker = () => {
    const [here, there] = duplexPair();
    const unused = () => {
      throw new Error("unexpected call");
    };
    const server = new WorkerRpcServer(
      there,
      { state, coordination, reservations },
      {
        ...{ join: unused, reportStarted: unused, reportReady: unused, collectMetrics: unused },
        publish: ([topic, message]) => {
          for (const each of servers) each.notify({ is: "published", topic, message });
          return null;
        },
      },
    );
    servers.push(server);
    const primary = new PrimaryRpcClient(here, clock);
    return { server, state: primarySharedState(primary), coordination: primaryCoordinationStore(primary) };
  };
  return { state, worker };
}

const holdOf = (requestId: string, nanos: bigint, limits: HoldRequest["limits"] = []): HoldRequest => ({
  ...{ requestId, workspaceId: "ws", keyId: "key", memberId: null, nanos, atMs: NOW_MS, limits },
});
const spentBy = { id: "key", workspaceId: "ws" };

test("SCALE-04 calls over the pipe give the same results as in one process, to the last nano-unit", async () => {
  const { worker } = startPrimary();
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

test("SCALE-04 KEY-04 a change by one worker gives every worker a new workspace version on its next call", async () => {
  const { worker } = startPrimary();
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

test("SCALE-04 BILL-07 a crashed worker's holds are settled by what the store recorded; other workers keep theirs", async () => {
  const { worker } = startPrimary();
  const [dead, alive] = [worker(), worker()];
  await alive.state.credit("ws", 10n * EUR);
  for (const id of ["charged", "lost", "settled"]) await dead.state.hold(holdOf(id, EUR));
  await dead.state.settle({ requestId: "settled", workspaceId: "ws" }, EUR);
  await alive.state.hold(holdOf("other", EUR));
  await dead.state.claimIdempotencyKey({ key: "k1", body: "b" }, "charged");
  await dead.state.claimIdempotencyKey({ key: "k2", body: "b" }, "lost");
  const use = { key: "k1", body: "b", workspaceId: "ws", requestId: "charged", status: 200, currency: "EUR" };
  const outcomes: RecordedOutcomes = {
    chargedNanos: async (id) => (id === "charged" ? 7n : 0n),
    keyUse: async (key) => (key === "k1" ? { ...use, nanos: 7n, expiresAtMs: NOW_MS + 1000 } : undefined),
    ledgerAmount: async () => 0n,
  };
  await dead.server.workerExited();
  for (let again = 0; again < 2; again += 1) await dead.server.settleReservations(outcomes);
  expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 9n * EUR - 7n, heldNanos: EUR });
  expect(await alive.state.claimIdempotencyKey({ key: "k1", body: "b" }, "next")).toMatchObject({ is: "remembered" });
  expect(await alive.state.claimIdempotencyKey({ key: "k2", body: "b" }, "next")).toMatchObject({ is: "claimed" });
});

test.each(["after a hand-over", "while it was stalled", "during its recovery"])(
  "SCALE-04 BILL-07 BILL-09 a request that another worker resumed %s stays with that worker and is charged once",
  async (when) => {
    const { worker } = startPrimary();
    const [dead, alive] = [worker(), worker()];
    const resumed = { requestId: "twice", workspaceId: "ws" };
    await alive.state.credit("ws", 10n * EUR);
    const run = async ({ state }: typeof dead) => {
      await state.claimIdempotencyKey({ key: "k", body: "b" }, "twice");
      await state.hold(holdOf("twice", EUR));
    };
    await run(dead);
    if (when !== "during its recovery") await run(alive);
    if (when === "after a hand-over") await dead.state.handOver(resumed);
    await dead.server.workerExited();
    await dead.server.settleReservations({
      chargedNanos: async () => {
        await run(alive);
        return 0n;
      },
      keyUse: async () => undefined,
      ledgerAmount: async () => 0n,
    });
    expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: EUR });
    expect(await alive.state.claimIdempotencyKey({ key: "k", body: "b" }, "next")).toMatchObject({ is: "running" });
    await alive.state.settle(resumed, 7n);
    expect(await alive.state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR - 7n, heldNanos: 0n });
  },
);

test("SCALE-04 a lock has one holder; the next waiter gets it on release, or when the holder crashes", async () => {
  const { worker } = startPrimary();
  const [one, two, three] = [worker(), worker(), worker()];
  const first = await one.coordination.acquireLock("name", { ttlMs: 1, waitMs: 0 });
  expect(first?.isHeld).toBe(true);
  expect(await two.coordination.acquireLock("name", { ttlMs: 1, waitMs: 0 })).toBeUndefined();
  const waiting = two.coordination.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await first?.release();
  expect(first?.isHeld).toBe(false);
  expect((await waiting)?.isHeld).toBe(true);
  const last = three.coordination.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await two.server.workerExited();
  const held = await last;
  expect(held?.isHeld).toBe(true);
  // A worker that crashed while it waited does not get the lock.
  const [dead, next] = [worker(), worker()];
  void dead.coordination.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await dead.coordination.get("any");
  await dead.server.workerExited();
  const given = next.coordination.acquireLock("name", { ttlMs: 1, waitMs: 60_000 });
  await held?.release();
  expect((await given)?.isHeld).toBe(true);
});

test("SCALE-04 entries and published messages reach every worker", async () => {
  const { worker } = startPrimary();
  const [one, other] = [worker(), worker()];
  const received: string[] = [];
  const unsubscribe = other.coordination.subscribe("topic", (message) => received.push(message));
  one.coordination.subscribe("topic", (message) => received.push(message));
  await one.coordination.put("instance:a", "http://ä", 1000);
  await one.coordination.put("instance:b", "", 0);
  expect(await other.coordination.list("instance:")).toEqual(new Map([["a", "http://ä"]]));
  expect(await other.coordination.get("instance:b")).toBeUndefined();
  await other.coordination.delete("instance:a");
  expect(await one.coordination.get("instance:a")).toBeUndefined();
  await one.coordination.publish("topic", "1");
  await one.coordination.publish("elsewhere", "2");
  unsubscribe();
  await one.coordination.publish("topic", "3");
  expect(received).toEqual(["1", "1", "3"]);
});

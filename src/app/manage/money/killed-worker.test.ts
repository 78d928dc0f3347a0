import { duplexPair } from "node:stream";
import { describe, expect, test } from "vitest";
import { payoutOf, type Transaction, topupOf, walletNanosOf } from "../../../domain/billing/ledger.ts";
import { memoryState } from "../../../io/state/memory-state.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import { memoryCoordinationStore } from "../../../io/workers/memory-coordination-store.ts";
import { PrimaryRpcClient } from "../../../io/workers/rpc-client.ts";
import { type RecordedOutcomes, WorkerRpcServer } from "../../../io/workers/rpc-server.ts";
import { ReservationRegistry } from "../../../io/workers/shared-resources.ts";
import { primaryCoordinationStore, primarySharedState } from "../../../io/workers/worker-context.ts";
import { systemClock } from "../../../kit/clock.ts";
import { systemTimers } from "../../../kit/timers.ts";
import { LedgerPoster } from "./ledger-poster.ts";

const BEFORE = 10n;
const STEPS = ["taken", "intended", "written", "credited", "unlocked"] as const;
type Step = (typeof STEPS)[number];

/** A primary process with one worker, the books, and the live balance that the first keeps. */
async function crew() {
  const state = memoryState(systemClock);
  await state.credit("ws", BEFORE);
  const [here, there] = duplexPair();
  const unused = () => {
    throw new Error("unexpected call");
  };
  const lifecycle = {
    join: unused,
    reportStarted: unused,
    reportReady: unused,
    collectMetrics: unused,
    publish: unused,
  };
  const server = new WorkerRpcServer(
    there,
    {
      state,
      coordination: memoryCoordinationStore(systemClock, systemTimers),
      reservations: new ReservationRegistry(),
    },
    lifecycle,
  );
  const primary = new PrimaryRpcClient(here, systemClock);
  const books = new Map<string, Transaction>();
  const booked: RecordedOutcomes = {
    chargedNanos: async () => 0n,
    keyUse: async () => undefined,
    ledgerAmount: async ({ id, createdAtMs }) => {
      const found = books.get(id);
      return found?.createdAtMs === createdAtMs ? walletNanosOf(found) : 0n;
    },
  };
  const bury = async () => {
    await server.workerExited();
    for (let again = 0; again < 2; again += 1) await server.settleReservations(booked);
    return (await state.wallet("ws")).balanceNanos;
  };
  return { books, bury, worker: { state: primarySharedState(primary), board: primaryCoordinationStore(primary) } };
}

/** Books as management does, and stands still for ever after one step. */
async function bookUntil(last: Step, transaction: Transaction, { books, worker }: Awaited<ReturnType<typeof crew>>) {
  const { promise: dead, resolve } = Promise.withResolvers<void>();
  const did = async (step: Step) => {
    if (step !== last) return;
    resolve();
    await new Promise(() => undefined);
  };
  const bookings = new LedgerPoster({
    clock: systemClock,
    ledger: { find: async (id) => books.get(id) },
    state: {
      announceBooking: async (...intended) => {
        await worker.state.announceBooking?.(...intended);
        await did("intended");
      },
      credit: async (...credited) => {
        await worker.state.credit(...credited);
        await did("credited");
      },
    },
  });
  const change = async () => {
    const lock = await worker.board.acquireLock("workspace:management", { ttlMs: 1000, waitMs: 0 });
    const nanos = -walletNanosOf(transaction);
    const taking = { workspaceId: "ws", nanos, isAllOrNothing: true, reserveNanos: 0n } as const;
    const taken = nanos > 0n ? await worker.state.withdraw(taking) : 0n;
    await did("taken");
    await bookings.post(transaction, taken, async () => {
      const isNew = !books.has(transaction.id);
      if (isNew) books.set(transaction.id, transaction);
      await did("written");
      return isNew;
    });
    await lock?.release();
    await did("unlocked");
  };
  await Promise.race([dead, change()]);
}

/** The books do not answer whether it was written. */
async function bookInDoubt(
  made: Transaction,
  lost: "before" | "after",
  { books, worker }: Awaited<ReturnType<typeof crew>>,
) {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const bookings = new LedgerPoster({ clock, ledger: { find: async (id) => books.get(id) }, state: worker.state });
  const lock = await worker.board.acquireLock("workspace:management", { ttlMs: 1000, waitMs: 0 });
  const nanos = -walletNanosOf(made);
  const taking = { workspaceId: "ws", nanos, isAllOrNothing: true, reserveNanos: 0n } as const;
  const taken = nanos > 0n ? await worker.state.withdraw(taking) : 0n;
  const booked = bookings.post(made, taken, async () => {
    if (lost === "after") books.set(made.id, made);
    throw new StoreError("unavailable", "cut");
  });
  await expect(booked).rejects.toThrow("unknown whether the transaction");
  await lock?.release();
  return async () => {
    nowMs += 60_000;
    expect(await bookings.resolveUncertain()).toBe(0);
  };
}

const posting = { id: "b1", workspaceId: "ws", currency: "EUR", nanos: 4n, createdAtMs: 1000 };

describe.each(["before", "after"] as const)(
  "SCALE-04 BILL-02 a worker whose books were cut off %s they wrote",
  (lost) => {
    test.each([topupOf(posting), payoutOf(posting)])("$kind: dies before it knows, or after", async (made) => {
      for (const knows of [false, true]) {
        const one = await crew();
        const settle = await bookInDoubt(made, lost, one);
        if (knows) await settle();
        expect(await one.bury()).toBe(lost === "after" ? BEFORE + walletNanosOf(made) : BEFORE);
      }
    });
  },
);

describe.each(STEPS)("SCALE-04 BILL-02 a worker that dies during a posting, after it is %s", (step) => {
  test.each([topupOf(posting), payoutOf(posting)])("$kind: the live balance is what the books say", async (made) => {
    const one = await crew();
    await bookUntil(step, made, one);
    const inBooks = [...one.books.values()].reduce((sum, booked) => sum + walletNanosOf(booked), BEFORE);
    expect(await one.bury()).toBe(inBooks);
  });

  test.each([1, 1000])("a repeated posting of an earlier one, at %i, changes nothing", async (createdAtMs) => {
    const one = await crew();
    one.books.set("b1", topupOf({ ...posting, createdAtMs }));
    await bookUntil(step, topupOf(posting), one);
    expect(await one.bury()).toBe(BEFORE);
  });
});

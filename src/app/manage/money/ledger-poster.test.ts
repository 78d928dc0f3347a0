import { expect, test } from "vitest";
import { fault } from "../../../contract/faults.ts";
import { payoutOf, type Transaction, topupOf, walletNanosOf } from "../../../domain/billing/ledger.ts";
import { ChangeNotPropagated } from "../../../domain/fleet/fleet.ts";
import { memoryState } from "../../../io/state/memory-state.ts";
import { StoreError } from "../../../io/store/sql/store-error.ts";
import { LedgerPoster } from "./ledger-poster.ts";

/** A store that can lose its answer before or after it has written. */
function open() {
  let nowMs = 0;
  const clock = { nowMs: () => nowMs, monotonicMs: () => nowMs };
  const state = memoryState(clock);
  const written = new Map<string, Transaction>();
  let isAway = false;
  const find = async (id: string) => {
    if (isAway) throw new StoreError("unavailable", "away");
    return written.get(id);
  };
  let filling = "first";
  const make = () => new LedgerPoster({ state, ledger: { find }, clock, walletGeneration: () => filling });
  const bookings = make();
  /** Live balances are what the books say. */
  const fill = async () => {
    filling += " again";
    const sum = [...written.values()].reduce((nanos, one) => nanos + walletNanosOf(one), 0n);
    await state.credit("ws", sum - (await state.wallet("ws")).balanceNanos);
  };
  const post = (transaction: Transaction, lost?: "before" | "after") => async () => {
    await Promise.resolve();
    if (lost === "before") throw new StoreError("unavailable", "cut before");
    const isNew = !written.has(transaction.id);
    if (isNew) written.set(transaction.id, transaction);
    if (lost === "after") throw new StoreError("unavailable", "cut after");
    return isNew;
  };
  const balance = async () => (await state.wallet("ws")).balanceNanos;
  const wait = (ms: number) => {
    nowMs += ms;
  };
  const away = (is: "away" | "back") => {
    isAway = is === "away";
  };
  return { bookings, other: make(), fill, state, post, balance, wait, away };
}

const posting = (id: string, nanos: bigint) => ({ id, workspaceId: "ws", currency: "EUR", nanos, createdAtMs: 1 });
const topup = topupOf(posting("t", 10n));
const payout = payoutOf(posting("o", 4n));
const take = { workspaceId: "ws", nanos: 4n, isAllOrNothing: true, reserveNanos: 0n } as const;

test("BILL-01 a credit with a lost commit result is in the live balance once, after a retry or a lookup", async () => {
  for (const lost of ["before", "after"] as const) {
    const again = open();
    await expect(again.bookings.post(topup, 0n, again.post(topup, lost))).rejects.toThrow(
      "unknown whether the transaction",
    );
    expect(await again.balance()).toBe(0n);
    expect(await again.bookings.post(topup, 0n, again.post(topup))).toBe(lost === "before");
    expect(await again.bookings.post(topup, 0n, again.post(topup))).toBe(false);
    expect(await again.balance()).toBe(10n);
    again.wait(60_000);
    expect([await again.bookings.resolveUncertain(), await again.balance()]).toEqual([0, 10n]);

    const looked = open();
    await expect(looked.bookings.post(topup, 0n, looked.post(topup, lost))).rejects.toThrow(
      "unknown whether the transaction",
    );
    expect(await looked.bookings.resolveUncertain()).toBe(1);
    looked.wait(60_000);
    expect([await looked.bookings.resolveUncertain(), await looked.balance()]).toEqual([
      0,
      lost === "before" ? 0n : 10n,
    ]);
  }
});

test("BILL-01 a credit of an earlier process is not credited again when its repetition's result is lost", async () => {
  for (const lost of ["before", "after"] as const) {
    const { bookings, state, post, balance, wait } = open();
    await post(topup)();
    // As a start does it: everything that the books say.
    await state.credit("ws", 10n);
    await expect(bookings.post(topup, 0n, post(topup, lost))).rejects.toThrow("unknown whether the transaction");
    expect(await bookings.post(topup, 0n, post(topup))).toBe(false);
    wait(60_000);
    expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 10n]);
  }
});

test("BILL-01 a store outage before the write leaves no uncertainty, and the debit is returned", async () => {
  const { bookings, state, post, balance, wait, away } = open();
  await post(topup)();
  await state.credit("ws", 10n);
  away("away");
  await expect(bookings.post(topup, 0n, post(topup))).rejects.toThrow("away");
  await expect(bookings.post(payout, await state.withdraw(take), post(payout))).rejects.toThrow("away");
  expect(await balance()).toBe(10n);
  away("back");
  wait(60_000);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 10n]);
});

test("BILL-01 a debit is returned only if its transaction was not committed", async () => {
  for (const lost of ["before", "after"] as const) {
    const { bookings, state, post, balance, wait } = open();
    await state.credit("ws", 10n);
    await expect(bookings.post(payout, await state.withdraw(take), post(payout, lost))).rejects.toThrow(
      "unknown whether the transaction",
    );
    expect(await balance()).toBe(6n);
    await expect(bookings.post(payout, await state.withdraw(take), post(payout, "before"))).rejects.toThrow(
      "unknown whether the transaction",
    );
    expect(await balance()).toBe(2n);
    wait(60_000);
    await bookings.resolveUncertain();
    expect(await balance()).toBe(lost === "before" ? 10n : 6n);
  }
});

test("BILL-01 a rejected or repeated posting returns its debit; an uncertain repetition changes nothing", async () => {
  const { bookings, state, post, balance, wait } = open();
  await state.credit("ws", 10n);
  const refuse = async () => {
    throw fault("conflict", { message: "no" });
  };
  await expect(bookings.post(payout, await state.withdraw(take), refuse)).rejects.toThrow("no");
  expect(await balance()).toBe(10n);
  const taken = await Promise.all([state.withdraw(take), state.withdraw(take)]);
  const both = await Promise.all(taken.map((nanos) => bookings.post(payout, nanos, post(payout))));
  expect([both.toSorted(), await balance()]).toEqual([[false, true], 6n]);
  await expect(bookings.post(payout, 0n, post(payout, "after"))).rejects.toThrow("unknown whether the transaction");
  wait(60_000);
  await bookings.resolveUncertain();
  expect(await balance()).toBe(6n);
});

test("BILL-01 SCALE-02 a committed posting is in the live balance even if its replication failed", async () => {
  const { bookings, state, post, balance, wait } = open();
  const untold = (transaction: Transaction) => async () => {
    await post(transaction)();
    throw new ChangeNotPropagated();
  };
  // Whoever is told to send it again, and gave it no name, pays in twice.
  await expect(bookings.post(topup, 0n, untold(topup))).rejects.toMatchObject({
    message: expect.stringContaining(`The transaction ${topup.id}`),
    headers: { "retry-after": "5", "x-should-retry": "false" },
  });
  expect(await balance()).toBe(10n);
  await expect(bookings.post(payout, await state.withdraw(take), untold(payout))).rejects.toThrow(
    "Do not send it again",
  );
  expect(await bookings.post(topup, 0n, post(topup))).toBe(false);
  wait(60_000);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 6n]);
});

test("BILL-01 SCALE-02 an uncertain posting that another instance committed is credited only there", async () => {
  const { bookings, other, state, post, balance, wait } = open();
  await bookings.post(topup, 0n, post(topup));
  await expect(bookings.post(payout, await state.withdraw(take), post(payout, "before"))).rejects.toThrow(
    "unknown whether the transaction",
  );
  const again = { ...payout, createdAtMs: 2 };
  expect(await other.post(again, await state.withdraw(take), post(again))).toBe(true);
  const second = topupOf(posting("second", 5n));
  await expect(bookings.post(second, 0n, post(second, "before"))).rejects.toThrow("unknown whether the transaction");
  const sentAgain = { ...second, createdAtMs: 2 };
  expect(await other.post(sentAgain, 0n, post(sentAgain))).toBe(true);
  wait(60_000);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 11n]);
});

test("BILL-01 SCALE-03 reloaded live balances already include earlier uncertain postings", async () => {
  for (const lost of ["before", "after"] as const) {
    const { bookings, state, post, balance, wait, fill } = open();
    await bookings.post(topup, 0n, post(topup));
    await expect(bookings.post(payout, await state.withdraw(take), post(payout, lost))).rejects.toThrow(
      "unknown whether the transaction",
    );
    const second = topupOf(posting("second", 5n));
    await expect(bookings.post(second, 0n, post(second, lost))).rejects.toThrow("unknown whether the transaction");
    await fill();
    wait(60_000);
    expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, lost === "before" ? 10n : 11n]);
  }
});

test("BILL-01 SCALE-03 a debit from before a reload is not returned with a debit since then", async () => {
  const { bookings, state, post, balance, wait, fill } = open();
  await bookings.post(topup, 0n, post(topup));
  const doubted = async () =>
    expect(bookings.post(payout, await state.withdraw(take), post(payout, "before"))).rejects.toThrow(
      "unknown whether",
    );
  await doubted();
  await fill();
  await doubted();
  expect(await balance()).toBe(6n);
  wait(60_000);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 10n]);
});

test("BILL-01 a posting that the store rejects returns its debit at once", async () => {
  for (const failure of ["rejected", "conflict"] as const) {
    const { bookings, state, balance } = open();
    await state.credit("ws", 10n);
    const reject = async () => {
      throw new StoreError(failure, "it cannot be kept");
    };
    await expect(bookings.post(payout, await state.withdraw(take), reject)).rejects.toThrow("it cannot be kept");
    expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 10n]);
  }
});

test("BILL-01 an uncertain posting is looked up after thirty seconds and not before", async () => {
  const { bookings, post, balance, wait } = open();
  await expect(bookings.post(topup, 0n, post(topup, "after"))).rejects.toThrow("unknown whether");
  wait(29_999);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([1, 0n]);
  wait(1);
  expect([await bookings.resolveUncertain(), await balance()]).toEqual([0, 10n]);
});

test("BILL-01 SCALE-03 a rejected repetition keeps the intent of an uncertain first attempt", async () => {
  let nowMs = 0;
  const ended: (string | undefined)[] = [];
  const bookings = new LedgerPoster({
    state: {
      credit: async (_workspaceId, _nanos, booking) => {
        ended.push(booking);
      },
    },
    ledger: { find: async () => undefined },
    clock: { nowMs: () => nowMs, monotonicMs: () => nowMs },
  });
  const failing = (error: Error) => () => Promise.reject(error);
  await expect(bookings.post(payout, 4n, failing(new StoreError("unavailable", "cut")))).rejects.toThrow(
    "unknown whether",
  );
  const refused = fault("conflict", { message: "no" });
  await expect(bookings.post(payout, 4n, failing(refused))).rejects.toThrow("no");
  expect(ended).toEqual([undefined]);
  nowMs = 60_000;
  await bookings.resolveUncertain();
  expect(ended).toEqual([undefined, payout.id]);
});

import { afterAll, beforeAll, expect, test } from "vitest";
import { type ManageFixture, openManageFixture } from "../../../../tests/support/manage-fixture.ts";
import { RateRegistry } from "../../../domain/catalogue/exchange-rates.ts";
import { createIdGenerator } from "../../../kit/id-generator.ts";
import { MutationLock } from "../mutation-lock.ts";
import { ExchangeRateUpdater } from "./exchange-rate-updater.ts";

let room: ManageFixture;
beforeAll(async () => {
  room = await openManageFixture();
});
afterAll(() => room.close());

test("BILL-06 SCALE-02 only the leader fetches rates, and a new leader fetches at its next interval", async () => {
  const { store, snapshot, nowMs } = room;
  let asks = 0;
  let isLeading = false;
  const turns: (() => void)[] = [];
  const rates = new ExchangeRateUpdater({
    tenancy: { store, clock: { nowMs, monotonicMs: nowMs }, ids: createIdGenerator(nowMs) },
    store: store.rates,
    rateBook: new RateRegistry(snapshot),
    source: {
      name: "a test",
      fetchRates: async () => {
        asks += 1;
        return { problem: "nothing today" };
      },
    },
    everyMs: 1000,
    staleDays: 14,
    timers: {
      after: (_ms, turn) => {
        turns.push(turn);
        return { refresh: () => undefined, [Symbol.dispose]: () => undefined };
      },
    },
    isLeader: () => isLeading,
    mutationLock: new MutationLock(),
    warn: () => undefined,
  });
  rates.start();
  turns.pop()?.();
  expect(asks).toBe(0);
  isLeading = true;
  turns.pop()?.();
  expect(asks).toBe(1);
  await rates.stop();
});

import { describe, expect, test } from "vitest";
import { claimTests } from "../../../tests/support/claim-suite.ts";
import { spendingTests } from "../../../tests/support/spending-suite.ts";
import { handClock, type LedgerState, stateTests } from "../../../tests/support/state-suite.ts";
import { memoryState } from "./memory-state.ts";
import { RateWindow, RateWindows, WINDOW_MS } from "./rate-window.ts";

async function open({ startMs, balanceNanos = 0n, spends = [] }: LedgerState = {}) {
  const clock = handClock(startMs);
  const state = memoryState(clock);
  await state.credit("ws", balanceNanos);
  await state.restoreSpend(spends);
  return { state, clock };
}

stateTests(open, 150);
spendingTests(open, 150);
claimTests(open, 300);

describe("rate windows in memory", () => {
  test("RATE-01 a large window keeps its order while the ring buffer grows and wraps", () => {
    const window = new RateWindow();
    const model: number[] = [];
    for (let at = 0; at < 200_000; at += 97) {
      expect(window.countAt(at)).toBe(model.filter((moment) => moment > at - WINDOW_MS).length);
      window.add(at);
      model.push(at);
      while ((model[0] ?? 0) <= at - WINDOW_MS) model.shift();
      expect(window.expiresAtMs(0)).toBe((model[0] ?? 0) + WINDOW_MS);
    }
  });

  test("RATE-01 windows of idle keys are dropped, and those of active keys stay", () => {
    const clock = handClock();
    const windows = new RateWindows(clock);
    for (let key = 0; key < 5000; key += 1) windows.consume({ id: `old-${key}` }, 10);
    clock.pass(WINDOW_MS / 2);
    windows.consume({ id: "busy" }, 1);
    clock.pass(WINDOW_MS / 2);
    for (let key = 0; key < 6000; key += 1) windows.consume({ id: `new-${key}` }, 10);
    expect(windows.size).toBeLessThanOrEqual(6001);
    expect(windows.consume({ id: "busy" }, 1).isAllowed).toBe(false);
    clock.pass(WINDOW_MS);
    windows.dropIdle();
    expect(windows.size).toBe(0);
  });
});

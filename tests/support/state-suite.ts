import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { DailySpend, SharedState } from "../../src/domain/admission/shared-state.ts";
import type { Clock } from "../../src/kit/clock.ts";

/** What the ledger has when a state is opened. */
export type LedgerState = {
  readonly startMs?: number;
  readonly balanceNanos?: bigint;
  readonly spends?: readonly DailySpend[];
};

/** A state of its own, and its clock. */
export type StateFixture = { readonly state: SharedState; readonly clock: PassingClock };
export type PassingClock = Clock & { pass(ms: number): void };
export type OpenState = (books?: LedgerState) => Promise<StateFixture>;

/** A clock that tests advance. */
export function handClock(startMs = 1_800_000_000_000): PassingClock {
  let elapsedMs = 5_000;
  return {
    nowMs: () => startMs + elapsedMs - 5_000,
    monotonicMs: () => elapsedMs,
    pass: (ms) => {
      elapsedMs += ms;
    },
  };
}

const WINDOW_MS = 60_000;
const EUR = 1_000_000_000n;
const holdOf = (requestId: string, nanos: bigint, workspaceId = "ws") => ({
  requestId,
  workspaceId,
  keyId: "key",
  memberId: null,
  nanos,
  atMs: 1_800_000_000_000,
  limits: [],
});

const keyOf = (id: string) => ({ id, workspaceId: "ws" });

/** Rate windows and wallets: what every shared state does, on every backend. */
export function stateTests(open: OpenState, runs: number): void {
  describe("window", () => {
    test("RATE-01 a slot becomes free exactly 60 s after it was taken", async () => {
      const { state, clock } = await open();
      const startedMs = clock.nowMs();
      expect(await state.consumeRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: true,
        limit: 2,
        remaining: 1,
        resetAtMs: startedMs + WINDOW_MS,
      });
      clock.pass(10_000);
      expect(await state.consumeRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: true,
        limit: 2,
        remaining: 0,
        resetAtMs: startedMs + WINDOW_MS,
      });
      clock.pass(49_999);
      expect(await state.consumeRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: false,
        limit: 2,
        remaining: 0,
        resetAtMs: startedMs + WINDOW_MS,
      });
      clock.pass(1);
      // The refused call was not counted: the next reset is that of the second call.
      expect(await state.consumeRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: true,
        limit: 2,
        remaining: 0,
        resetAtMs: startedMs + 10_000 + WINDOW_MS,
      });
    });

    test("RATE-01 a lowered limit reports when a call will really fit", async () => {
      const { state, clock } = await open();
      const startedMs = clock.nowMs();
      for (let call = 0; call < 5; call += 1) {
        await state.consumeRateWindow(keyOf("k"), 5);
        clock.pass(1000);
      }
      const full = {
        isAllowed: false,
        remaining: 0,
        resetAtMs: startedMs + 3000 + WINDOW_MS,
        waitMs: WINDOW_MS - 2000,
      };
      expect(await state.consumeRateWindow(keyOf("k"), 2)).toMatchObject(full);
      expect(await state.peekRateWindow(keyOf("k"), 2)).toMatchObject(full);
    });

    test("RATE-03 reading a window counts nothing", async () => {
      const { state, clock } = await open();
      const startedMs = clock.nowMs();
      expect(await state.peekRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: true,
        limit: 2,
        remaining: 2,
        resetAtMs: startedMs,
      });
      await state.consumeRateWindow(keyOf("k"), 2);
      clock.pass(1000);
      for (let look = 0; look < 5; look += 1)
        expect(await state.peekRateWindow(keyOf("k"), 2)).toMatchObject({
          remaining: 1,
          resetAtMs: startedMs + WINDOW_MS,
        });
      await state.consumeRateWindow(keyOf("k"), 2);
      expect(await state.peekRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: false,
        limit: 2,
        remaining: 0,
        resetAtMs: startedMs + WINDOW_MS,
      });
      clock.pass(WINDOW_MS);
      expect(await state.peekRateWindow(keyOf("k"), 2)).toMatchObject({
        isAllowed: true,
        remaining: 2,
        resetAtMs: clock.nowMs(),
      });
    });

    test("RATE-01 keys have separate windows", async () => {
      const { state } = await open();
      expect((await state.consumeRateWindow(keyOf("a"), 1)).isAllowed).toBe(true);
      expect((await state.consumeRateWindow(keyOf("b"), 1)).isAllowed).toBe(true);
      expect((await state.consumeRateWindow(keyOf("a"), 1)).isAllowed).toBe(false);
    });

    test("RATE-01 admits at most the limit in any 60 s, and never less than fits, like a model that counts all", () => {
      const steps = fc.array(fc.tuple(fc.integer({ min: 0, max: 25_000 }), fc.integer({ min: 1, max: 40 })), {
        maxLength: 200,
      });
      return fc.assert(
        fc.asyncProperty(steps, async (calls) => {
          const { state, clock } = await open();
          const admitted: number[] = [];
          for (const [gapMs, limit] of calls) {
            clock.pass(gapMs % 3 === 0 ? 0 : gapMs);
            const now = clock.monotonicMs();
            const inWindow = admitted.filter((at) => at > now - WINDOW_MS);
            const verdict = await state.consumeRateWindow(keyOf("k"), limit);
            expect(verdict.isAllowed).toBe(inWindow.length < limit);
            expect(verdict.remaining).toBe(Math.max(0, limit - inWindow.length - (verdict.isAllowed ? 1 : 0)));
            if (verdict.isAllowed) admitted.push(now);
          }
        }),
        { numRuns: runs },
      );
    });
  });

  describe("wallet", () => {
    test("BILL-03 a hold reduces the available balance at once and is refused when it does not fit", async () => {
      const { state } = await open();
      await state.credit("ws", 10n * EUR);
      expect(await state.hold(holdOf("r1", 6n * EUR))).toEqual({ is: "held" });
      expect(await state.hold(holdOf("r2", 5n * EUR))).toEqual({
        is: "insufficient_credits",
        availableNanos: 4n * EUR,
        neededNanos: 5n * EUR,
      });
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: 6n * EUR });
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 2n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 8n * EUR, heldNanos: 0n });
      expect(await state.hold(holdOf("r2", 5n * EUR))).toEqual({ is: "held" });
    });

    test("BILL-03 of 200 concurrent requests on a balance for 10, ten are admitted", async () => {
      const { state } = await open();
      await state.credit("ws", 10n * EUR);
      const verdicts = await Promise.all(Array.from({ length: 200 }, (_, n) => state.hold(holdOf(`r${n}`, EUR))));
      expect(verdicts.filter((verdict) => verdict.is === "held")).toHaveLength(10);
    });

    test("BILL-03 usage beyond the hold may make the balance negative, and then nothing is admitted", async () => {
      const { state } = await open();
      await state.credit("ws", EUR);
      await state.hold(holdOf("r1", EUR));
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: -2n * EUR, heldNanos: 0n });
      expect((await state.hold(holdOf("r2", 0n))).is).toBe("insufficient_credits");
      expect((await state.hold(holdOf("r3", 1n))).is).toBe("insufficient_credits");
    });

    test("BILL-01 BILL-03 a withdrawal takes available balance only: all of it, or as much as there is", async () => {
      const { state } = await open();
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 0n, heldNanos: 0n });
      await state.credit("ws", 100n);
      await state.hold(holdOf("r1", 30n));
      const take = (nanos: bigint, isAllOrNothing: boolean, reserveNanos = 0n) =>
        state.withdraw({ workspaceId: "ws", nanos, isAllOrNothing, reserveNanos });
      expect([await take(71n, true), await take(61n, true, 10n), await take(60n, true, 10n)]).toEqual([0n, 0n, 60n]);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 40n, heldNanos: 30n });
      expect([await take(50n, false, 4n), await take(1n, false, 4n), await take(1n, false, 5n)]).toEqual([6n, 0n, 0n]);
      expect([await take(4n, true), await take(1n, false)]).toEqual([4n, 0n]);
      await expect(take(-1n, false)).rejects.toThrow("would create money");
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 30n, heldNanos: 30n });
    });

    test("BILL-02 a request is settled once, however often it is requested", async () => {
      const { state } = await open();
      await state.credit("ws", 10n * EUR);
      await state.hold(holdOf("r1", 2n * EUR));
      expect(await state.hold(holdOf("r1", 2n * EUR))).toEqual({ is: "held" });
      await state.settle({ requestId: "r1", workspaceId: "ws" }, EUR);
      await state.settle({ requestId: "r1", workspaceId: "ws" }, EUR);
      await state.settle({ requestId: "unknown", workspaceId: "ws" }, EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 9n * EUR, heldNanos: 0n });
    });

    test("BILL-02 BILL-03 a run that hands its request over leaves the hold, which the other ends with its charge", async () => {
      const { state } = await open();
      await state.credit("ws", 10n * EUR);
      for (const _run of ["first", "second"]) expect(await state.hold(holdOf("r", 4n * EUR))).toEqual({ is: "held" });
      await state.handOver({ requestId: "r", workspaceId: "ws" });
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: 4n * EUR });
      await state.settle({ requestId: "r", workspaceId: "ws" }, 3n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 7n * EUR, heldNanos: 0n });
    });

    test("BILL-03 a hold lasts for the whole of a second run, too", async () => {
      const { state, clock } = await open();
      await state.credit("ws", 10n * EUR);
      await state.hold(holdOf("r", 8n * EUR));
      clock.pass(900);
      await state.handOver({ requestId: "r", workspaceId: "ws" });
      expect(await state.hold(holdOf("r", 8n * EUR))).toEqual({ is: "held" });
      clock.pass(900);
      expect(await state.sweepHolds(1000)).toBe(0);
      expect((await state.hold(holdOf("other", 9n * EUR))).is).toBe("insufficient_credits");
      clock.pass(100);
      expect(await state.sweepHolds(1000)).toBe(1);
    });

    test("BILL-03 a hold that a second run renewed does not keep others from expiring", async () => {
      const { state, clock } = await open();
      await state.credit("ws", 10n * EUR);
      await state.hold(holdOf("r", EUR));
      clock.pass(100);
      await state.hold(holdOf("other", EUR));
      clock.pass(800);
      await state.hold(holdOf("r", EUR));
      clock.pass(200);
      expect(await state.sweepHolds(1000)).toBe(1);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: EUR });
    });

    test("BILL-03 a second run after its hold expired needs funds like any other request", async () => {
      const { state, clock } = await open();
      await state.credit("ws", 10n * EUR);
      await state.hold(holdOf("r", 8n * EUR));
      clock.pass(1000);
      await state.sweepHolds(1000);
      await state.hold(holdOf("other", 9n * EUR));
      expect(await state.hold(holdOf("r", 8n * EUR))).toMatchObject({
        is: "insufficient_credits",
        availableNanos: EUR,
      });
      await state.settle({ requestId: "other", workspaceId: "ws" }, 0n);
      expect(await state.hold(holdOf("r", 8n * EUR))).toEqual({ is: "held" });
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: 8n * EUR });
      await state.settle({ requestId: "r", workspaceId: "ws" }, 3n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 7n * EUR, heldNanos: 0n });
    });

    test("BILL-02 a negative hold or charge creates no money and leaves the hold in place", async () => {
      const { state } = await open();
      await state.credit("ws", EUR);
      await state.hold(holdOf("r1", EUR));
      expect(() => state.settle({ requestId: "r1", workspaceId: "ws" }, -1n)).toThrow(RangeError);
      expect(() => state.hold(holdOf("r2", -1n))).toThrow(RangeError);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: EUR, heldNanos: EUR });
    });

    test("BILL-03 an abandoned hold is released, and its late end is still charged once", async () => {
      const { state, clock } = await open();
      await state.credit("ws", 10n * EUR);
      await state.hold(holdOf("r1", 4n * EUR));
      clock.pass(500);
      await state.hold(holdOf("r2", EUR));
      clock.pass(500);
      expect(await state.sweepHolds(1000)).toBe(1);
      expect(await state.sweepHolds(1000)).toBe(0);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: EUR });
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 7n * EUR, heldNanos: EUR });
      clock.pass(1500);
      expect(await state.sweepHolds(1000)).toBe(1);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 7n * EUR, heldNanos: 0n });
    });

    test("BILL-03 a hold without a continuing run is released for wallet and spender, and a late end charged once", async () => {
      const { state } = await open();
      await state.credit("ws", 10n * EUR);
      for (const id of ["r1", "r2"]) await state.hold(holdOf(id, 4n * EUR));
      for (const requestId of ["r1", "r1", "never"]) await state.releaseHold({ requestId, workspaceId: "ws" });
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 10n * EUR, heldNanos: 4n * EUR });
      const spender = { id: "key", workspaceId: "ws" };
      expect((await state.spending(spender, 1_800_000_000_000)).day).toEqual({ spentNanos: 0n, heldNanos: 4n * EUR });
      for (let time = 0; time < 2; time += 1) await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      expect(await state.wallet("ws")).toEqual({ balanceNanos: 7n * EUR, heldNanos: 4n * EUR });
    });

    test("BILL-03 after any operations: balance = credits − charges, held = open holds, and no hold is overdrawn", () => {
      const ids = fc.integer({ min: 0, max: 12 }).map((n) => `r${n}`);
      const amounts = fc.bigInt({ min: 0n, max: 50n });
      const step = fc.oneof(
        fc.record({ do: fc.constant("hold" as const), id: ids, nanos: amounts }),
        fc.record({ do: fc.constant("settle" as const), id: ids, nanos: amounts }),
        fc.record({ do: fc.constant("give back" as const), id: ids }),
        fc.record({ do: fc.constant("credit" as const), nanos: amounts }),
        fc.record({ do: fc.constant("sweep" as const), passMs: fc.nat(900) }),
      );
      return fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
          const { state, clock } = await open();
          const running = new Map<string, { nanos: bigint; sinceMs: number; swept: boolean }>();
          let balance = 0n;
          const held = () => [...running.values()].reduce((sum, hold) => sum + hold.nanos, 0n);
          for (const action of steps) {
            if (action.do === "credit") {
              await state.credit("ws", action.nanos);
              balance += action.nanos;
            } else if (action.do === "hold") {
              const verdict = await state.hold(holdOf(action.id, action.nanos));
              const known = running.get(action.id);
              const since = { sinceMs: clock.monotonicMs(), swept: false };
              if (known?.swept === false) {
                expect(verdict.is).toBe("held");
                running.set(action.id, { ...known, ...since });
              } else {
                expect(verdict.is).toBe(balance - held() >= action.nanos ? "held" : "insufficient_credits");
                if (verdict.is === "held") running.set(action.id, { nanos: action.nanos, ...since });
              }
            } else if (action.do === "settle") {
              await state.settle({ requestId: action.id, workspaceId: "ws" }, action.nanos);
              if (running.delete(action.id)) balance -= action.nanos;
            } else if (action.do === "give back") {
              await state.releaseHold({ requestId: action.id, workspaceId: "ws" });
              Object.assign(running.get(action.id) ?? {}, { nanos: 0n, swept: true });
            } else {
              clock.pass(action.passMs);
              await state.sweepHolds(1000);
              for (const [id, hold] of running) {
                const ageMs = clock.monotonicMs() - hold.sinceMs;
                if (ageMs >= 1000) Object.assign(hold, { nanos: 0n, swept: true });
                if (ageMs >= 2000) running.delete(id);
              }
            }
            expect(await state.wallet("ws")).toEqual({ balanceNanos: balance, heldNanos: held() });
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { HoldRequest, SharedState } from "../../src/domain/admission/shared-state.ts";
import type { SpenderKind, SpendLimit } from "../../src/domain/tenancy/limits.ts";
import type { OpenState } from "./state-suite.ts";

const EUR = 1_000_000_000n;
const DAY_MS = 86_400_000;
const NOON = Date.UTC(2026, 10, 15, 12);

const limit = (of: SpenderKind, per: "day" | "month", nanos: bigint): SpendLimit => ({ of, per, nanos });
const DAILY = [limit("workspace", "day", 10n * EUR)];

const of = (id: string) => ({ id, workspaceId: "ws" });

function holdOf(requestId: string, nanos: bigint, more: Partial<HoldRequest> = {}): HoldRequest {
  return { requestId, workspaceId: "ws", keyId: "k1", memberId: null, nanos, atMs: NOON, limits: [], ...more };
}

/** Spend limits: what every shared state does, on every backend. */
export function spendingTests(open: OpenState, runs: number): void {
  limitTests(async () => (await open({ startMs: NOON, balanceNanos: 1_000_000n * EUR })).state);
  modelTests(open, runs);
}

function limitTests(funded: () => Promise<SharedState>): void {
  describe("limits", () => {
    test("BILL-04 spend, holds and this request must fit; the verdict names the limit and its reset", async () => {
      const state = await funded();
      const limits = DAILY;
      await state.hold(holdOf("r1", 4n * EUR, { limits }));
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      expect(await state.hold(holdOf("r2", 5n * EUR, { limits }))).toEqual({ is: "held" });
      expect(await state.hold(holdOf("r3", 2n * EUR + 1n, { limits }))).toEqual({
        is: "spend_limit_reached",
        limit: DAILY[0],
        spentNanos: 3n * EUR,
        heldNanos: 5n * EUR,
        neededNanos: 2n * EUR + 1n,
        resetsAtMs: Date.UTC(2026, 10, 16),
      });
      expect(await state.hold(holdOf("r3", 2n * EUR, { limits }))).toEqual({ is: "held" });
      expect(await state.spending(of("ws"), NOON)).toEqual({
        day: { spentNanos: 3n * EUR, heldNanos: 7n * EUR },
        month: { spentNanos: 3n * EUR, heldNanos: 7n * EUR },
      });
    });

    test("BILL-04 of 200 concurrent requests on a limit for 10, ten are admitted, and a refused one holds nothing", async () => {
      const state = await funded();
      const verdicts = await Promise.all(
        Array.from({ length: 200 }, (_, n) => state.hold(holdOf(`r${n}`, EUR, { limits: DAILY }))),
      );
      expect(verdicts.filter((verdict) => verdict.is === "held")).toHaveLength(10);
      expect(await state.wallet("ws")).toMatchObject({ heldNanos: 10n * EUR });
      expect((await state.spending(of("k1"), NOON)).day.heldNanos).toBe(10n * EUR);
    });

    test("BILL-04 a release returns the hold, a settlement turns it into spend, and excess usage counts too", async () => {
      const state = await funded();
      const limits = DAILY;
      await state.hold(holdOf("free", 10n * EUR, { limits }));
      expect((await state.hold(holdOf("r", 1n, { limits }))).is).toBe("spend_limit_reached");
      await state.settle({ requestId: "free", workspaceId: "ws" }, 0n);
      await state.hold(holdOf("r", EUR, { limits }));
      await state.settle({ requestId: "r", workspaceId: "ws" }, 12n * EUR);
      expect(await state.hold(holdOf("next", 0n, { limits }))).toMatchObject({
        is: "spend_limit_reached",
        spentNanos: 12n * EUR,
        heldNanos: 0n,
      });
    });

    test("BILL-04 a lowered, raised or lifted limit holds from the next request", async () => {
      const state = await funded();
      await state.hold(holdOf("r1", 5n * EUR));
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 5n * EUR);
      const tryHold = async (nanos: bigint | null) => {
        const limits = nanos === null ? [] : [limit("key", "day", nanos)];
        const verdict = await state.hold(holdOf("try", EUR, { limits }));
        await state.settle({ requestId: "try", workspaceId: "ws" }, 0n);
        return verdict.is;
      };
      expect(await tryHold(4n * EUR)).toBe("spend_limit_reached");
      expect(await tryHold(6n * EUR)).toBe("held");
      expect(await tryHold(0n)).toBe("spend_limit_reached");
      expect(await tryHold(null)).toBe("held");
    });

    test("BILL-04 workspace, member and key have separate counters", async () => {
      const state = await funded();
      const alice = { keyId: "k1", memberId: "alice" };
      await state.hold(holdOf("r1", 3n * EUR, alice));
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 3n * EUR);
      await state.hold(holdOf("r2", 2n * EUR, { keyId: "k2", memberId: "alice" }));
      await state.settle({ requestId: "r2", workspaceId: "ws" }, 2n * EUR);
      await state.hold(holdOf("r3", EUR, { keyId: "k3" }));
      await state.settle({ requestId: "r3", workspaceId: "ws" }, EUR);
      const spent = async (id: string) => (await state.spending(of(id), NOON)).day.spentNanos / EUR;
      expect([
        await spent("ws"),
        await spent("alice"),
        await spent("k1"),
        await spent("k2"),
        await spent("k3"),
      ]).toEqual([6n, 5n, 3n, 2n, 1n]);
      const limits = [limit("member", "day", 5n * EUR)];
      expect((await state.hold(holdOf("r4", 1n, { ...alice, limits }))).is).toBe("spend_limit_reached");
      expect((await state.hold(holdOf("r5", 1n, { keyId: "k3", limits: [] }))).is).toBe("held");
    });

    test("BILL-04 names the first reached limit, and an empty wallet before all of them", async () => {
      const state = await funded();
      const limits = [limit("workspace", "month", 5n * EUR), limit("key", "day", 1n)];
      expect(await state.hold(holdOf("r", 2n * EUR, { limits }))).toMatchObject({ limit: limits[1] });
      expect(await state.hold(holdOf("r", 6n * EUR, { limits }))).toMatchObject({
        limit: limits[0],
        resetsAtMs: Date.UTC(2026, 11, 1),
      });
      expect((await state.hold(holdOf("r", 2_000_000n * EUR, { limits }))).is).toBe("insufficient_credits");
    });

    test("BILL-04 a day begins at midnight UTC, a month on its first; earlier spend counts in its own period", async () => {
      const last = Date.UTC(2026, 10, 30, 23, 59, 59, 999);
      const state = await funded();
      const limits = [limit("workspace", "month", 10n * EUR), limit("workspace", "day", 6n * EUR)];
      const ask = (id: string, atMs: number) => state.hold(holdOf(id, 5n * EUR, { limits, atMs }));
      await ask("r1", last - DAY_MS);
      await state.settle({ requestId: "r1", workspaceId: "ws" }, 5n * EUR);
      expect((await ask("r2", last - DAY_MS)).is).toBe("spend_limit_reached");
      expect((await ask("r3", last)).is).toBe("held");
      expect(await ask("r4", last)).toMatchObject({ limit: { per: "month" }, resetsAtMs: Date.UTC(2026, 11, 1) });
      expect((await ask("r5", last + 1)).is).toBe("held");
      // A request that spans midnight counts for the day it began in, as in the roll-ups.
      await state.settle({ requestId: "r3", workspaceId: "ws" }, 4n * EUR);
      expect((await state.spending(of("ws"), last)).day).toEqual({ spentNanos: 4n * EUR, heldNanos: 0n });
      expect((await state.spending(of("ws"), last + 1)).day).toEqual({ spentNanos: 0n, heldNanos: 5n * EUR });
      expect((await state.spending(of("ws"), last)).month.spentNanos).toBe(9n * EUR);
    });

    test("BILL-04 spend from before the start counts", async () => {
      const state = await funded();
      const spend = { workspaceId: "ws", keyId: "k1", memberId: "alice" };
      await state.restoreSpend([
        { ...spend, day: "2026-11-15", nanos: 4n * EUR },
        { ...spend, day: "2026-11-02", nanos: 3n * EUR },
        { ...spend, keyId: "k2", memberId: null, day: "2026-11-15", nanos: EUR },
        { ...spend, day: "2026-10-31", nanos: 50n * EUR },
      ]);
      const spent = async (id: string) => {
        const { day, month } = await state.spending(of(id), NOON);
        return [day.spentNanos / EUR, month.spentNanos / EUR];
      };
      expect(await spent("ws")).toEqual([5n, 8n]);
      expect(await spent("alice")).toEqual([4n, 7n]);
      expect(await spent("k2")).toEqual([1n, 1n]);
      const limits = [limit("workspace", "month", 9n * EUR)];
      expect((await state.hold(holdOf("r", EUR + 1n, { limits }))).is).toBe("spend_limit_reached");
      expect((await state.hold(holdOf("r", EUR, { limits }))).is).toBe("held");
    });

    test("BILL-04 spend of an unknown key counts for its workspace only", async () => {
      const state = await funded();
      const spend = { keyId: "", memberId: null, day: "2026-11-15" };
      await state.restoreSpend([
        { ...spend, workspaceId: "ws", nanos: 3n * EUR },
        { ...spend, workspaceId: "other", nanos: 70n * EUR },
        { ...spend, workspaceId: "ws", keyId: "k1", nanos: EUR },
        { ...spend, workspaceId: "ws", nanos: EUR },
      ]);
      const spent = async (id: string, workspaceId: string) =>
        (await state.spending({ id, workspaceId }, NOON)).month.spentNanos / EUR;
      expect([await spent("ws", "ws"), await spent("other", "other")]).toEqual([5n, 70n]);
      expect([await spent("k1", "ws"), await spent("", "ws"), await spent("", "other")]).toEqual([1n, 0n, 0n]);
      expect((await state.hold(holdOf("r", 5n * EUR + 1n, { limits: DAILY }))).is).toBe("spend_limit_reached");
      expect((await state.hold(holdOf("r", 5n * EUR, { limits: DAILY }))).is).toBe("held");
    });

    test("BILL-04 old days are pruned, those of this month and the one before are not", async () => {
      const state = await funded();
      const spend = { workspaceId: "ws", keyId: "k1", memberId: null, nanos: EUR };
      await state.restoreSpend([
        { ...spend, day: "2026-09-30" },
        { ...spend, day: "2026-10-01" },
        { ...spend, day: "2026-11-15" },
      ]);
      const old = Date.parse("2026-08-01");
      await state.hold(holdOf("long", EUR, { atMs: old }));
      await state.sweepHolds(1000);
      expect((await state.spending(of("ws"), old)).day.heldNanos).toBe(EUR);
      const spent = async (text: string) => (await state.spending(of("ws"), Date.parse(text))).day.spentNanos;
      expect(await spent("2026-09-30")).toBe(0n);
      expect(await spent("2026-10-01")).toBe(EUR);
      expect(await spent("2026-11-15")).toBe(EUR);
    });
  });
}

function modelTests(open: OpenState, runs: number): void {
  /** The state machine beside a model that keeps every hold and charge as a row and sums them. */
  describe("in any order", () => {
    type Row = { nanos: bigint; keyId: string; atMs: number; sinceMs: number; is: "held" | "swept" };
    const KEYS = [
      { keyId: "k1", memberId: "alice" },
      { keyId: "k2", memberId: "alice" },
      { keyId: "k3", memberId: null },
    ] as const;
    const spenders = (keyId: string) => ["ws", keyId, ...(keyId === "k3" ? [] : ["alice"])];
    const idOf = { workspace: () => "ws", key: (keyId: string) => keyId, member: () => "alice" } as const;

    const ids = fc.integer({ min: 0, max: 9 }).map((n) => `r${n}`);
    const amounts = fc.bigInt({ min: 0n, max: 50n });
    const someLimits = fc.array(
      fc.record({
        of: fc.constantFrom("workspace" as const, "key" as const, "member" as const),
        per: fc.constantFrom("day" as const, "month" as const),
        nanos: fc.bigInt({ min: 0n, max: 120n }),
      }),
      { maxLength: 4 },
    );
    const step = fc.oneof(
      {
        weight: 5,
        arbitrary: fc.record({ do: fc.constant("hold" as const), id: ids, nanos: amounts, key: fc.nat(2) }),
      },
      { weight: 4, arbitrary: fc.record({ do: fc.constant("settle" as const), id: ids, nanos: amounts }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("release" as const), id: ids }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("limits" as const), limits: someLimits }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("credit" as const), nanos: amounts }) },
      {
        weight: 1,
        arbitrary: fc.record({ do: fc.constant("pass" as const), ms: fc.constantFrom(400, DAY_MS / 2, 5 * DAY_MS) }),
      },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("sweep" as const) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant("restart" as const) }) },
    );

    const dayOfMs = (ms: number) => new Date(ms).toISOString().slice(0, 10);
    const isIn = (per: "day" | "month", atMs: number, nowMs: number) => {
      const letters = per === "day" ? 10 : 7;
      return dayOfMs(atMs).slice(0, letters) === dayOfMs(nowMs).slice(0, letters);
    };

    test("BILL-04 BILL-03 after any operations counters equal the sums, and no admission exceeds a limit", () => {
      return fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 150 }), async (steps) => {
          let { state, clock } = await open({ startMs: Date.UTC(2026, 10, 27), balanceNanos: 400n });
          let limits: readonly SpendLimit[] = [];
          let balance = 400n;
          const running = new Map<string, Row>();
          const charges: { keyId: string; atMs: number; nanos: bigint }[] = [];
          const heldNow = (row: Row) => (row.is === "held" ? row.nanos : 0n);
          const held = (spender: string, per: "day" | "month", nowMs: number) =>
            [...running.values()]
              .filter((row) => spenders(row.keyId).includes(spender) && isIn(per, row.atMs, nowMs))
              .reduce((sum, row) => sum + heldNow(row), 0n);
          const spent = (spender: string, per: "day" | "month", nowMs: number) =>
            charges
              .filter((row) => spenders(row.keyId).includes(spender) && isIn(per, row.atMs, nowMs))
              .reduce((sum, row) => sum + row.nanos, 0n);
          const end = (id: string, nanos: bigint) => {
            const row = running.get(id);
            if (row === undefined) return;
            running.delete(id);
            charges.push({ keyId: row.keyId, atMs: row.atMs, nanos });
            balance -= nanos;
          };

          for (const action of steps) {
            const nowMs = clock.nowMs();
            if (action.do === "hold") {
              const key = KEYS[action.key] ?? KEYS[0];
              const { nanos } = action;
              // Limits of a member apply only to that member's keys, as in the directory.
              const applied = limits.filter(({ of }) => of !== "member" || key.memberId !== null);
              const allHeld = [...running.values()].reduce((sum, row) => sum + heldNow(row), 0n);
              const fits = (one: SpendLimit) => {
                const id = idOf[one.of](key.keyId);
                return spent(id, one.per, nowMs) + held(id, one.per, nowMs) + nanos <= one.nanos;
              };
              const known = running.get(action.id);
              const expected =
                known?.is === "held"
                  ? "held"
                  : balance - allHeld < nanos
                    ? "insufficient_credits"
                    : applied.every(fits)
                      ? "held"
                      : "spend_limit_reached";
              const verdict = await state.hold({
                ...key,
                requestId: action.id,
                workspaceId: "ws",
                nanos,
                atMs: nowMs,
                limits: applied,
              });
              expect(verdict.is).toBe(expected);
              if (verdict.is === "spend_limit_reached")
                expect(verdict.limit).toEqual(applied.find((one) => !fits(one)));
              if (known?.is === "held") known.sinceMs = clock.monotonicMs();
              else if (expected === "held")
                running.set(action.id, {
                  nanos,
                  keyId: key.keyId,
                  atMs: nowMs,
                  sinceMs: clock.monotonicMs(),
                  is: "held",
                });
            } else if (action.do === "settle" || action.do === "release") {
              const nanos = action.do === "settle" ? action.nanos : 0n;
              // Twice: the second must change nothing.
              await state.settle({ requestId: action.id, workspaceId: "ws" }, nanos);
              await state.settle({ requestId: action.id, workspaceId: "ws" }, nanos);
              end(action.id, nanos);
            } else if (action.do === "limits") limits = action.limits;
            else if (action.do === "credit") {
              await state.credit("ws", action.nanos);
              balance += action.nanos;
            } else if (action.do === "pass") clock.pass(action.ms);
            else if (action.do === "sweep") {
              await state.sweepHolds(DAY_MS);
              for (const [id, row] of running) {
                const ageMs = clock.monotonicMs() - row.sinceMs;
                if (ageMs >= DAY_MS) row.is = "swept";
                if (ageMs >= 2 * DAY_MS) running.delete(id);
              }
            } else {
              // Running requests are not charged; charges are in the ledger, which fills the new process.
              running.clear();
              const spends = charges.map(({ keyId, atMs, nanos }) => ({
                workspaceId: "ws",
                keyId,
                memberId: keyId === "k3" ? null : "alice",
                day: dayOfMs(atMs),
                nanos,
              }));
              ({ state, clock } = await open({ startMs: clock.nowMs(), balanceNanos: balance, spends }));
            }
            const laterMs = clock.nowMs();
            const heldInAll = [...running.values()].reduce((sum, row) => sum + heldNow(row), 0n);
            expect(await state.wallet("ws")).toEqual({ balanceNanos: balance, heldNanos: heldInAll });
            for (const id of ["ws", "alice", "k1", "k2", "k3"]) {
              const counted = await state.spending(of(id), laterMs);
              for (const per of ["day", "month"] as const)
                expect(counted[per]).toEqual({
                  spentNanos: spent(id, per, laterMs),
                  heldNanos: held(id, per, laterMs),
                });
            }
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

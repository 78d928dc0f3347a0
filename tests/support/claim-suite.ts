import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ChargedKeyUse } from "../../src/domain/admission/idempotency.ts";
import type { OpenState, PassingClock } from "./state-suite.ts";

const TTL_MS = 86_400_000;
const ALL = { is: "claimed", coverage: "all" };

export function chargedUse(clock: PassingClock, key: string, requestId: string, body = "b"): ChargedKeyUse {
  const charge = { workspaceId: "ws", status: 200, nanos: 5n, currency: "EUR" };
  const served = { model: "lab/one", provider: "lab", level: "L2", countries: ["DE", "FR"] };
  return { key, body, requestId, ...charge, served, expiresAtMs: clock.nowMs() + TTL_MS };
}

async function openFixture(open: OpenState) {
  const { state, clock } = await open();
  const charged = (key: string, requestId: string, body?: string) => chargedUse(clock, key, requestId, body);
  return { state, charged, pass: (ms: number) => clock.pass(ms) };
}

/** Uses of `Idempotency-Key`: what every shared state does, on every backend. */
export function claimTests(open: OpenState, runs: number): void {
  describe("claims", () => {
    test("BILL-09 one request claims a key; a duplicate gets its owner, another body gets a mismatch", async () => {
      const { state } = await openFixture(open);
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r1")).toEqual(ALL);
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r2")).toEqual({
        is: "running",
        requestId: "r1",
      });
      expect(await state.claimIdempotencyKey({ key: "k", body: "c" }, "r3")).toEqual({
        is: "other_body",
        requestId: "r1",
      });
      expect(await state.claimIdempotencyKey({ key: "other", body: "b" }, "r4")).toEqual(ALL);
      // Resumed work with the same id does not conflict with itself.
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r1")).toEqual(ALL);
    });

    test("BILL-09 only the owner's release frees it; once charged it stays, whatever is released later", async () => {
      const { state, charged } = await openFixture(open);
      await state.claimIdempotencyKey({ key: "k", body: "b" }, "r1");
      await state.releaseClaim("k", "r2");
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r2")).toMatchObject({ is: "running" });
      await state.releaseClaim("k", "r1");
      expect(await state.claimIdempotencyKey({ key: "k", body: "c" }, "r2")).toEqual(ALL);
      const first = charged("k", "r2", "c");
      await state.recordKeyUse(first);
      await state.releaseClaim("k", "r2");
      expect(await state.claimIdempotencyKey({ key: "k", body: "c" }, "r3")).toEqual({
        is: "remembered",
        charged: first,
      });
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r3")).toEqual({
        is: "other_body",
        requestId: "r2",
      });
    });

    test("BILL-09 a charged use is kept for its time to the millisecond, and then the key is free", async () => {
      const { state, charged, pass } = await openFixture(open);
      await state.recordKeyUse(charged("k", "r1"));
      pass(TTL_MS - 1);
      await state.sweepHolds(1);
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r2")).toMatchObject({ is: "remembered" });
      pass(1);
      expect(await state.claimIdempotencyKey({ key: "k", body: "another" }, "r2")).toEqual(ALL);
      await state.releaseClaim("k", "r2");
      await state.sweepHolds(1);
      expect(await state.claimIdempotencyKey({ key: "k", body: "b" }, "r3")).toEqual(ALL);
    });

    test("BILL-09 in any order, one request per key runs at a time, and none after a charge until it expires", async () => {
      const step = fc.record({
        does: fc.constantFrom("claim" as const, "charge" as const, "release" as const, "pass" as const),
        key: fc.constantFrom("k1", "k2"),
        body: fc.constantFrom("a", "b"),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
          const { state, charged, pass } = await openFixture(open);
          const running = new Map<string, { id: string; body: string }>();
          const until = new Map<string, number>();
          let nowMs = 0;
          for (const [at, { does, key, body }] of steps.entries()) {
            const mine = running.get(key);
            if (does === "claim") {
              const { is } = await state.claimIdempotencyKey({ key, body }, `r${at}`);
              const free = mine === undefined && (until.get(key) ?? 0) <= nowMs;
              expect(is === "claimed").toBe(free);
              if (is === "claimed") running.set(key, { id: `r${at}`, body });
            } else if (does === "pass") {
              pass(TTL_MS / 3);
              nowMs += TTL_MS / 3;
            } else if (mine !== undefined) {
              if (does === "charge") {
                await state.recordKeyUse(charged(key, mine.id, mine.body));
                until.set(key, nowMs + TTL_MS);
              }
              await state.releaseClaim(key, mine.id);
              running.delete(key);
            }
          }
        }),
        { numRuns: runs },
      );
    });
  });
}

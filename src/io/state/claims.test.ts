import fc from "fast-check";
import { expect, test } from "vitest";
import { keyUseOf, type RememberedUse } from "../../domain/admission/idempotency.ts";
import { memoryState } from "./memory.ts";

const START_MS = 1_800_000_000_000;
const TTL_MS = 86_400_000;

function room(claimsMax = 100) {
  let nowMs = START_MS;
  const state = memoryState({ nowMs: () => nowMs, elapsedMs: () => nowMs }, { claimsMax });
  const charged = (key: string, requestId: string, body = "b"): RememberedUse => ({
    key,
    body,
    workspaceId: "ws",
    requestId,
    status: 200,
    nanos: 5n,
    currency: "EUR",
    expiresAtMs: nowMs + TTL_MS,
  });
  const pass = (ms: number) => {
    nowMs += ms;
  };
  return { state, charged, pass };
}

const ALL = { is: "claimed", known: "all" };

test("BILL-09 a key is claimed by one request; its twin hears who has it, another body that it is another", async () => {
  const { state } = room();
  expect(await state.claim({ key: "k", body: "b" }, "r1")).toEqual(ALL);
  expect(await state.claim({ key: "k", body: "b" }, "r2")).toEqual({ is: "running", requestId: "r1" });
  expect(await state.claim({ key: "k", body: "c" }, "r3")).toEqual({ is: "other_body", requestId: "r1" });
  expect(await state.claim({ key: "other", body: "b" }, "r4")).toEqual(ALL);
  // Work that is taken up again under its own id does not stand in its own way.
  expect(await state.claim({ key: "k", body: "b" }, "r1")).toEqual(ALL);
});

test("BILL-09 released it is free, and only by whoever has it; charged it stays, whatever is released after", async () => {
  const { state, charged } = room();
  await state.claim({ key: "k", body: "b" }, "r1");
  await state.release("k", "r2");
  expect(await state.claim({ key: "k", body: "b" }, "r2")).toMatchObject({ is: "running" });
  await state.release("k", "r1");
  expect(await state.claim({ key: "k", body: "c" }, "r2")).toEqual(ALL);
  const first = charged("k", "r2", "c");
  await state.remember(first);
  await state.release("k", "r2");
  expect(await state.claim({ key: "k", body: "c" }, "r3")).toEqual({ is: "remembered", first });
  expect(await state.claim({ key: "k", body: "b" }, "r3")).toEqual({ is: "other_body", requestId: "r2" });
});

test("BILL-09 a charged use is remembered for its time to the millisecond, and then the key is free", async () => {
  const { state, charged, pass } = room();
  await state.remember(charged("k", "r1"));
  pass(TTL_MS - 1);
  await state.sweep(1);
  expect(await state.claim({ key: "k", body: "b" }, "r2")).toMatchObject({ is: "remembered" });
  pass(1);
  expect(await state.claim({ key: "k", body: "another" }, "r2")).toEqual(ALL);
  await state.release("k", "r2");
  await state.sweep(1);
  expect(await state.claim({ key: "k", body: "b" }, "r3")).toEqual(ALL);
});

test("BILL-09 memory is bounded: the oldest leave it, and until their time is over it says that it does not know all", async () => {
  const { state, charged, pass } = room(2);
  await state.remember(charged("k1", "r1"));
  pass(10);
  await state.remember(charged("k2", "r2"));
  expect(await state.claim({ key: "new", body: "b" }, "r")).toEqual(ALL);
  await state.release("new", "r");
  pass(10);
  await state.remember(charged("k3", "r3"));
  expect(await state.claim({ key: "k1", body: "b" }, "r")).toEqual({ is: "claimed", known: "newest" });
  await state.release("k1", "r");
  expect(await state.claim({ key: "k2", body: "b" }, "r")).toMatchObject({ is: "remembered" });
  pass(TTL_MS - 20);
  expect(await state.claim({ key: "k1", body: "b" }, "r")).toEqual(ALL);
});

test("BILL-09 whatever happens: of the requests under a key one runs at a time, and after a charge none until its time is over", async () => {
  const step = fc.record({
    does: fc.constantFrom("claim" as const, "charge" as const, "release" as const, "pass" as const),
    key: fc.constantFrom("k1", "k2"),
    body: fc.constantFrom("a", "b"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
      const { state, charged, pass } = room();
      const running = new Map<string, { id: string; body: string }>();
      const until = new Map<string, number>();
      let nowMs = 0;
      for (const [at, { does, key, body }] of steps.entries()) {
        const mine = running.get(key);
        if (does === "claim") {
          const { is } = await state.claim({ key, body }, `r${at}`);
          const free = mine === undefined && (until.get(key) ?? 0) <= nowMs;
          expect(is === "claimed").toBe(free);
          if (is === "claimed") running.set(key, { id: `r${at}`, body });
        } else if (does === "pass") {
          pass(TTL_MS / 3);
          nowMs += TTL_MS / 3;
        } else if (mine !== undefined) {
          if (does === "charge") {
            await state.remember(charged(key, mine.id, mine.body));
            until.set(key, nowMs + TTL_MS);
          }
          await state.release(key, mine.id);
          running.delete(key);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test("BILL-09 the same key of two workspaces, of two members, of test and live, of two routes, or with other headers has nothing in common", () => {
  const call = {
    workspaceId: "w1",
    memberId: undefined,
    environment: "live",
    key: "k",
    route: "createMessage",
    headers: [null, "x"],
  } as const;
  const body = Buffer.from("{}");
  const use = keyUseOf(call, body);
  expect(keyUseOf(call, Buffer.from("{}"))).toEqual(use);
  for (const other of [{ workspaceId: "w2" }, { memberId: "m1" }, { environment: "test" }, { key: "l" }] as const) {
    const use2 = keyUseOf({ ...call, ...other }, body);
    expect([use2.key === use.key, use2.body === use.body]).toEqual([false, false]);
  }
  for (const other of [{ route: "createResponse" }, { headers: ["x", null] }]) {
    const use2 = keyUseOf({ ...call, ...other }, body);
    expect([use2.key === use.key, use2.body === use.body]).toEqual([true, false]);
  }
  expect(keyUseOf(call, Buffer.from("{ }")).body).not.toBe(use.body);
});

import { expect, test } from "vitest";
import { chargedUse } from "../../../tests/support/claim-suite.ts";
import { handClock } from "../../../tests/support/state-suite.ts";
import { keyUseOf } from "../../domain/admission/idempotency.ts";
import { memoryState } from "./memory.ts";

const TTL_MS = 86_400_000;
const ALL = { is: "claimed", known: "all" };

test("BILL-09 memory is bounded: the oldest leave it, and until their time is over it says that it does not know all", async () => {
  const clock = handClock();
  const state = memoryState(clock, { claimsMax: 2 });
  const charged = (key: string, requestId: string) => chargedUse(clock, key, requestId);
  await state.remember(charged("k1", "r1"));
  clock.pass(10);
  await state.remember(charged("k2", "r2"));
  expect(await state.claim({ key: "new", body: "b" }, "r")).toEqual(ALL);
  await state.release("new", "r");
  clock.pass(10);
  await state.remember(charged("k3", "r3"));
  expect(await state.claim({ key: "k1", body: "b" }, "r")).toEqual({ is: "claimed", known: "newest" });
  await state.release("k1", "r");
  expect(await state.claim({ key: "k2", body: "b" }, "r")).toMatchObject({ is: "remembered" });
  clock.pass(TTL_MS - 20);
  expect(await state.claim({ key: "k1", body: "b" }, "r")).toEqual(ALL);
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

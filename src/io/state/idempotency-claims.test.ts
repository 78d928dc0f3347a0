import { expect, test } from "vitest";
import { chargedUse } from "../../../tests/support/claim-suite.ts";
import { handClock } from "../../../tests/support/state-suite.ts";
import { keyUseOf } from "../../domain/admission/idempotency.ts";
import { memoryState } from "./memory-state.ts";

const TTL_MS = 86_400_000;
const ALL = { is: "claimed", coverage: "all" };

test("BILL-09 memory is bounded: evicted uses are reported as unknown until they expire", async () => {
  const clock = handClock();
  const state = memoryState(clock, { keyUsesMax: 2 });
  const charged = (key: string, requestId: string) => chargedUse(clock, key, requestId);
  await state.recordKeyUse(charged("k1", "r1"));
  clock.pass(10);
  await state.recordKeyUse(charged("k2", "r2"));
  expect(await state.claimIdempotencyKey({ key: "new", body: "b" }, "r")).toEqual(ALL);
  await state.releaseClaim("new", "r");
  clock.pass(10);
  await state.recordKeyUse(charged("k3", "r3"));
  expect(await state.claimIdempotencyKey({ key: "k1", body: "b" }, "r")).toEqual({ is: "claimed", coverage: "newest" });
  await state.releaseClaim("k1", "r");
  expect(await state.claimIdempotencyKey({ key: "k2", body: "b" }, "r")).toMatchObject({ is: "remembered" });
  clock.pass(TTL_MS - 20);
  expect(await state.claimIdempotencyKey({ key: "k1", body: "b" }, "r")).toEqual(ALL);
});

test("BILL-09 a key is scoped to workspace, member and environment, and its body to route and headers", () => {
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

import { expect, test } from "vitest";
import { exchangeOf, principalWith } from "../../../tests/support/catalogue-handlers.ts";
import { fault } from "../../contract/faults.ts";
import { ROUTES } from "../../contract/routes.ts";
import { memoryState } from "../../io/state/memory-state.ts";
import { systemClock } from "../../kit/clock.ts";
import { claimIdempotencyKey } from "./idempotent-replay.ts";
import { RequestTrace } from "./record.ts";

test.each([
  ["is new", {}, "first", undefined],
  ["was begun before", { run: "again" }, "again", expect.any(String)],
] as const)(
  "BILL-09 RESP-05 after a failed claim, a request that %s releases the claim it may own",
  async (_, begun, runKind, key) => {
    const claims: unknown[] = [];
    const state = {
      ...memoryState(systemClock),
      claimIdempotencyKey: async (
        ...[, requestId, run]: Parameters<ReturnType<typeof memoryState>["claimIdempotencyKey"]>
      ) => {
        claims.push([requestId, run]);
        throw fault("service_unavailable", { message: "away" });
      },
    };
    const idempotency = {
      ttlMs: 1000,
      find: async () => undefined,
      storedReply: async () => undefined,
      servedCall: async () => undefined,
      sweep: async () => undefined,
    };
    const [route] = ROUTES;
    if (route === undefined) throw new Error("there is no route");
    const exchange = { ...exchangeOf(route, { headers: { "idempotency-key": "k" } }), ...begun };
    const trace = new RequestTrace(exchange, principalWith(), "responses", systemClock);
    await expect(claimIdempotencyKey({ state, idempotency }, trace, exchange, Buffer.from("{}"))).rejects.toThrow();
    expect(claims).toEqual([[trace.requestId, runKind]]);
    expect(trace.idempotencyClaim?.key).toEqual(key);
  },
);

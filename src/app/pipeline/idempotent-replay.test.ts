import { expect, test } from "vitest";
import { exchangeOf, principalWith } from "../../../tests/support/handled.ts";
import { fault } from "../../contract/faults.ts";
import { ROUTES } from "../../contract/routes.ts";
import { memoryState } from "../../io/state/memory-state.ts";
import { systemClock } from "../../kit/clock.ts";
import { claimIdempotencyKey } from "./idempotent-replay.ts";
import { RequestTrace } from "./request-trace.ts";

test.each([
  ["is new", {}, "first", undefined],
  ["was begun before", { run: "again" }, "again", expect.any(String)],
] as const)(
  "BILL-09 RESP-05 nobody says whether a request has its key that %s: its end frees what it may have from before",
  async (_, begun, told, key) => {
    const asked: unknown[] = [];
    const state = {
      ...memoryState(systemClock),
      claim: async (...[, requestId, run]: Parameters<ReturnType<typeof memoryState>["claimIdempotencyKey"]>) => {
        asked.push([requestId, run]);
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
    const trail = new RequestTrace(exchange, principalWith(), "responses", systemClock);
    await expect(claimIdempotencyKey({ state, idempotency }, trail, exchange, Buffer.from("{}"))).rejects.toThrow();
    expect(asked).toEqual([[trail.requestId, told]]);
    expect(trail.idempotencyClaim?.key).toEqual(key);
  },
);

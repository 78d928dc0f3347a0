import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "../kit/clock.ts";
import { MINUTE_MS } from "../kit/time.ts";
import { startSweeper } from "./background-tasks.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const nothing = async () => undefined;

test("SCALE-03 a failing sweep neither stops the others nor the process, and is retried", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  const seen: string[] = [];
  const warned: string[] = [];
  const failing = (name: string) => async () => {
    seen.push(name);
    throw new Error("unavailable");
  };
  const passing = (name: string) => async () => {
    seen.push(name);
  };
  const sweeper = startSweeper(
    { GATEWAY_REQUEST_TIMEOUT_MS: 1000 },
    {
      state: { sweepHolds: failing("state") },
      captures: { sweep: passing("captures") },
      responses: {
        store: { sweep: failing("responses") },
        clock: systemClock,
        warn: (_detail, message) => warned.push(message),
        gateway: { idempotency: { sweep: passing("uses") } },
      },
      batches: { sweep: passing("batches") },
      rotation: { finish: nothing, retry: nothing, stop: nothing },
      retention: { run: passing("retention"), stop: nothing },
      statistics: { run: passing("statistics"), stop: nothing },
      responseCache: { sweepMemory: () => undefined, sweepStore: passing("cache") },
      money: { run: passing("money"), stop: nothing },
      accounts: { sweep: passing("accounts") },
      fleet: { isLeader: true },
    },
  );
  const round = [
    ...["accounts", "batches", "cache", "captures", "money"],
    ...["responses", "retention", "state", "statistics", "uses"],
  ];
  for (let rounds = 0; rounds < 2; rounds += 1) {
    vi.advanceTimersByTime(MINUTE_MS);
    // Unhandled rejections are reported one tick later.
    await new Promise((resolve) => setImmediate(resolve));
    expect(seen.splice(0).sort()).toEqual(round);
  }
  expect(warned).toEqual(warned.map(() => "responses: removal of expired responses failed"));
  expect(unhandled).not.toHaveBeenCalled();
  process.off("unhandledRejection", unhandled);
  await sweeper.stop();
  vi.advanceTimersByTime(MINUTE_MS);
  expect(seen).toEqual([]);
});

import { expect, test, vi } from "vitest";
import { systemClock } from "../../kit/clock.ts";
import { Crew, type Hand } from "./crew.ts";
import type { Up } from "./protocol.ts";

const UP: Up = { origin: "http://127.0.0.1:1", firstKey: null, setupLink: null };
const QUIET = { info: () => undefined, warn: () => undefined, error: () => undefined };

type Made = Hand & { serve(): void; die(): void; readonly isGone: boolean };

/** A worker that serves when it is told to, and ends when it is told to go. */
function handOf(slot: number): Made {
  const ready = Promise.withResolvers<Up>();
  const gone = Promise.withResolvers<string>();
  let isGone = false;
  const die = () => {
    isGone = true;
    ready.reject(new Error("it ended"));
    gone.resolve("SIGKILL");
  };
  ready.promise.catch(() => undefined);
  return {
    ...{ slot, pid: slot, ready: ready.promise, gone: gone.promise, drain: die, kill: die, die },
    serve: () => ready.resolve(UP),
    get isGone() {
      return isGone;
    },
  };
}

test("SCALE-04 a worker that dies while its successor starts is replaced once: there are as many as there shall be", async () => {
  const hired: Made[] = [];
  let starts: "at once" | "in its time" = "at once";
  const hire = (slot: number) => {
    const hand = handOf(slot);
    hired.push(hand);
    if (starts === "at once") hand.serve();
    return hand;
  };
  const deps = { bury: async () => undefined, clock: systemClock, log: QUIET, endsWithinMs: 60_000 };
  const crew = new Crew({ ...deps, count: 2, hire });
  await crew.start(() => undefined);
  starts = "in its time";
  const restarted = crew.restart();
  await vi.waitFor(() => expect(hired).toHaveLength(3));
  hired[0]?.die();
  await vi.waitFor(() => expect(hired).toHaveLength(4));
  starts = "at once";
  for (const hand of hired) hand.serve();
  await restarted;
  expect(hired.filter(({ isGone }) => !isGone)).toHaveLength(2);
  await crew.stop();
  expect(hired.every(({ isGone }) => isGone)).toBe(true);
});

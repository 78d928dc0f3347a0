import { setImmediate as nextTurn } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { expect, onTestFinished, test, vi } from "vitest";
import { cancelTimer, systemTimers } from "./timers.ts";

test("a wait that is longer than the system's timers can count is a long one", () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const over = vi.fn();
  systemTimers.after(30 * 86_400_000, over);
  vi.advanceTimersByTime(24 * 86_400_000);
  expect(over).not.toHaveBeenCalled();
  vi.advanceTimersByTime(86_400_000);
  expect(over).toHaveBeenCalledOnce();
});

/** Longer than the waits below. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

test("SCALE-03 data that arrived during an event-loop stall is read before a timeout fires", async () => {
  const { port1: near, port2: far } = new MessageChannel();
  const received: string[] = [];
  near.on("message", () => received.push("answer"));
  // The system looks at its timers next, and then at what has come.
  await nextTurn();
  const { promise: isUp, resolve } = Promise.withResolvers<void>();
  systemTimers.after(10, () => {
    received.push("late");
    resolve();
  });
  far.postMessage("here");
  standStill();
  await isUp;
  near.close();
  expect(received).toEqual(["answer", "late"]);
});

test("a timer that is stopped or restarted within the same tick does not fire", async () => {
  const over: string[] = [];
  await nextTurn();
  const [stopped, again] = ["stopped", "again"].map((name) => systemTimers.after(10, () => over.push(name)));
  const other = setTimeout(() => {
    cancelTimer(stopped);
    again?.refresh();
    over.push("other");
  }, 11);
  standStill();
  await expect.poll(() => over).toEqual(["other", "again"]);
  clearTimeout(other);
});

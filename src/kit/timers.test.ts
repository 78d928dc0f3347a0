import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { MessageChannel } from "node:worker_threads";
import { expect, test } from "vitest";
import { cancelTimer, systemTimers } from "./timers.ts";

test("a wait that is longer than the system's timers can count is a long one", async () => {
  let over = false;
  const timer = systemTimers.after(30 * 86_400_000, () => {
    over = true;
  });
  await sleep(20);
  cancelTimer(timer);
  expect(over).toBe(false);
});

/** Longer than the waits below. */
function standStill(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50);
}

test("SCALE-03 what came while this process stood still is heard before anybody's time is up", async () => {
  const { port1: near, port2: far } = new MessageChannel();
  const heard: string[] = [];
  near.on("message", () => heard.push("answer"));
  // The system looks at its timers next, and then at what has come.
  await nextTurn();
  const { promise: isUp, resolve } = Promise.withResolvers<void>();
  systemTimers.after(10, () => {
    heard.push("late");
    resolve();
  });
  far.postMessage("here");
  standStill();
  await isUp;
  near.close();
  expect(heard).toEqual(["answer", "late"]);
});

test("a time that is up for the system is up for nobody who is stopped, or starts over, within the same turn", async () => {
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

import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { stop, systemTimers } from "./timers.ts";

test("a wait that is longer than the system's timers can count is a long one", async () => {
  let over = false;
  const timer = systemTimers.after(30 * 86_400_000, () => {
    over = true;
  });
  await sleep(20);
  stop(timer);
  expect(over).toBe(false);
});

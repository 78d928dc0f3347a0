import { expect, test } from "vitest";
import { LeftFolders } from "./left-folders.ts";
import type { Up } from "./protocol.ts";

test("SCALE-04 folders of missing workers are told to everyone who comes into the first slot, until somebody is there again", async () => {
  const left = new LeftFolders(["data", "data/workers/3", "data/workers/4"]);
  const begin = (slot: number) => {
    const ready = Promise.withResolvers<Up>();
    left.begun({ slot, ready: ready.promise }, `data/workers/${slot}`);
    return ready;
  };
  const first = begin(1);
  expect([left.toldTo(1), left.toldTo(2)]).toEqual([["data", "data/workers/3", "data/workers/4"], []]);
  // It may be at their journals.
  expect([left.areTakenUp("data/workers/3"), left.areTakenUp("data/workers/2")]).toEqual([true, false]);
  first.reject(new Error("it ended"));
  await expect.poll(() => left.areTakenUp("data/workers/3")).toBe(false);
  begin(3);
  const next = begin(1);
  expect(left.toldTo(1)).toEqual(["data", "data/workers/4"]);
  expect([left.areTakenUp("data/workers/3"), left.areTakenUp("data/workers/4")]).toEqual([false, true]);
  next.resolve({ origin: "http://127.0.0.1:1", firstKey: null, setupLink: null });
  await expect.poll(() => left.areTakenUp("data/workers/4")).toBe(false);
});

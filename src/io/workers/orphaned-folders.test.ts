import { expect, test } from "vitest";
import { OrphanedFolders } from "./orphaned-folders.ts";
import type { StartupInfo } from "./rpc-protocol.ts";

test("SCALE-04 folders of missing workers are told to everyone who comes into the first slot, until somebody is there again", async () => {
  const left = new OrphanedFolders(["data", "data/workers/3", "data/workers/4"]);
  const begin = (slot: number) => {
    const ready = Promise.withResolvers<StartupInfo>();
    left.workerSpawned({ slot, ready: ready.promise }, `data/workers/${slot}`);
    return ready;
  };
  const first = begin(1);
  expect([left.assignedTo(1), left.assignedTo(2)]).toEqual([["data", "data/workers/3", "data/workers/4"], []]);
  // It may be at their journals.
  expect([left.isBeingRecovered("data/workers/3"), left.isBeingRecovered("data/workers/2")]).toEqual([true, false]);
  first.reject(new Error("it ended"));
  await expect.poll(() => left.isBeingRecovered("data/workers/3")).toBe(false);
  begin(3);
  const next = begin(1);
  expect(left.assignedTo(1)).toEqual(["data", "data/workers/4"]);
  expect([left.isBeingRecovered("data/workers/3"), left.isBeingRecovered("data/workers/4")]).toEqual([false, true]);
  next.resolve({ origin: "http://127.0.0.1:1", firstKey: null, setupLink: null });
  await expect.poll(() => left.isBeingRecovered("data/workers/4")).toBe(false);
});

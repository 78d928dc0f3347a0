import { expect, test } from "vitest";
import type { StartupInfo } from "./rpc-protocol.ts";
import { OrphanedFolders } from "./worker-folders.ts";

test("SCALE-04 every worker in the recovery slot gets the orphaned folders, until a worker uses them again", async () => {
  const orphans = new OrphanedFolders(["data", "data/workers/3", "data/workers/4"]);
  const spawn = (slot: number) => {
    const ready = Promise.withResolvers<StartupInfo>();
    orphans.workerSpawned({ slot, ready: ready.promise }, `data/workers/${slot}`);
    return ready;
  };
  const first = spawn(1);
  expect([orphans.assignedTo(1), orphans.assignedTo(2)]).toEqual([["data", "data/workers/3", "data/workers/4"], []]);
  expect([orphans.isBeingRecovered("data/workers/3"), orphans.isBeingRecovered("data/workers/2")]).toEqual([
    true,
    false,
  ]);
  first.reject(new Error("exited"));
  await expect.poll(() => orphans.isBeingRecovered("data/workers/3")).toBe(false);
  spawn(3);
  const next = spawn(1);
  expect(orphans.assignedTo(1)).toEqual(["data", "data/workers/4"]);
  expect([orphans.isBeingRecovered("data/workers/3"), orphans.isBeingRecovered("data/workers/4")]).toEqual([
    false,
    true,
  ]);
  next.resolve({ origin: "http://127.0.0.1:1", firstKey: null, setupLink: null });
  await expect.poll(() => orphans.isBeingRecovered("data/workers/4")).toBe(false);
});

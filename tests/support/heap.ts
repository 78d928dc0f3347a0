import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Not switched off again: threads of this process switch it on for themselves, and would miss it. */
export function garbageCollector(): () => void {
  for (;;) {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("globalThis.gc");
    if (typeof collect === "function") return () => collect();
  }
}

/** What is reached from somewhere, here and outside of the heap: pages that the process keeps to itself are not counted. */
export function heldBytes(): number {
  garbageCollector()();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** Never switched off again: threads of this process enable it for themselves, and would miss it. */
export function garbageCollector(): () => void {
  for (;;) {
    setFlagsFromString("--expose-gc");
    const collect: unknown = runInNewContext("globalThis.gc");
    if (typeof collect === "function") return () => collect();
  }
}

/** Reachable memory, in the heap and outside of it; pages that the process merely keeps are not counted. */
export function heldBytes(): number {
  garbageCollector()();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

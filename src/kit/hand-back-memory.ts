import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/**
 * Collects what a start leaves behind and gives the pages back to the system. A start allocates about half as much
 * again as a running process needs, and V8 keeps that as room to grow into for as long as nothing presses it.
 */
export function handBackMemory(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  // The only kind of collection that also shrinks the heap's own tables and frees empty pages.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
  setFlagsFromString("--no-expose-gc");
}

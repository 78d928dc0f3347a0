import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const C_LIBRARY = "libc.so.6";

/** After a start, on the main thread: it speaks for the whole process. */
export function releaseMemory(): void {
  collectGarbage();
  trimMalloc();
}

/**
 * Collects what a start leaves behind on this thread and gives the pages back to the system. A start allocates about half as
 * much again as a running process needs, and V8 keeps that as room to grow into for as long as nothing presses it.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  // The only kind of collection that also shrinks the heap's own tables and frees empty pages.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
  setFlagsFromString("--no-expose-gc");
}

/**
 * The C library gives back by itself only what is free at the end of its heap; what is free in the middle it gives when it is
 * asked. Where there is no such function (another library, another system) nothing is lost but the pages.
 */
function trimMalloc(): void {
  try {
    const signature = { arguments: ["u64"], return: "i32" } as const;
    process.getBuiltinModule("node:ffi").dlopen(C_LIBRARY, { malloc_trim: signature }).functions.malloc_trim(0n);
  } catch {}
}

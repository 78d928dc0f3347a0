import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const C_LIBRARY = "libc.so.6";

/** Called on the main thread after startup; `malloc_trim` affects the whole process. */
export function releaseMemory(): void {
  collectGarbage();
  trimMalloc();
}

/**
 * Collects the garbage of the startup on this thread. A start allocates about 50 % more than a running process needs, and
 * V8 keeps that memory while there is no pressure.
 */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  // Only a last-resort collection also shrinks the heap's tables and frees empty pages.
  if (typeof collect === "function") collect({ type: "major", execution: "sync", flavor: "last-resort" });
  setFlagsFromString("--no-expose-gc");
}

/** glibc releases free memory inside its heap only on request. Other C libraries do not have this function. */
function trimMalloc(): void {
  try {
    const signature = { arguments: ["u64"], return: "i32" } as const;
    process.getBuiltinModule("node:ffi").dlopen(C_LIBRARY, { malloc_trim: signature }).functions.malloc_trim(0n);
  } catch {}
}

import { executionAsyncResource } from "node:async_hooks";

const pinned: object[] = [];

/**
 * Keeps one tick object of `process.nextTick` alive. If a full garbage collection finds none, V8 drops their hidden class
 * and never optimizes them again: every tick of the process would then take five times as long.
 */
export function pinNextTickShape(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      pinned.push(executionAsyncResource());
      resolve();
    });
  });
}

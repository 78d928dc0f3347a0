import { executionAsyncResource } from "node:async_hooks";

const pinned: object[] = [];

/**
 * Keeps one object of the kind that `process.nextTick` makes. When a full collection finds none of them alive, V8
 * forgets their shape and never makes them the fast way again: every tick of the process then costs five times as much.
 */
export function pinNextTickShape(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      pinned.push(executionAsyncResource());
      resolve();
    });
  });
}

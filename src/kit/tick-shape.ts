import { executionAsyncResource } from "node:async_hooks";

const kept: object[] = [];

/**
 * Keeps one object of the kind that `process.nextTick` makes. When a full collection finds none of them alive, V8
 * forgets their shape and never makes them the fast way again: every tick of the process then costs five times as much.
 */
export function keepTickShape(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => {
      kept.push(executionAsyncResource());
      resolve();
    });
  });
}

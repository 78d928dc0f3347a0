import { AsyncLocalStorage } from "node:async_hooks";
import type { Needed } from "../../io/store/sql/auth-adapter.ts";

/**
 * A call of signing in while it is under way. What it goes by may be taken from whoever makes it, by a new password or an
 * account that starts over: the library writes for nobody of whom an epoch has begun since the call came.
 */
export type Call = {
  /** The newest one when the call came; a later one where the call has begun it. */
  epoch: number;
  needs?: Needed | undefined;
  /** The secret of the second factor that was read last: what a code was checked against. */
  factor?: string | undefined;
  /** Something was not written. */
  isLate: boolean;
};

const calls = new AsyncLocalStorage<Call>();

export function underWay<T>(call: Call, work: () => T): T {
  return calls.run(call, work);
}

/** What nobody has called for is older than every epoch. */
export function callNow(): Call {
  return calls.getStore() ?? { epoch: 0, isLate: false };
}

import type { Fleet } from "../../domain/fleet/fleet.ts";

/** Runs changes one at a time, so that each one builds on the result of the previous one. */
export type MutationLock = <T>(change: () => Promise<T>) => Promise<T>;

/** A lock within this process. */
export function createMutationLock(): MutationLock {
  let last: Promise<unknown> = Promise.resolve();
  return (change) => {
    const current = last.then(change);
    // The next change also runs after a failure, which only this change's caller sees.
    last = current.catch(() => undefined);
    return current;
  };
}

/** Wallets are opened under every `workspace:` lock, so ledger changes are serialized with the opening too. */
const MANAGEMENT_LOCK = "workspace:management";

/** A lock across all instances; each change first catches up with what the other instances have changed. */
export function fleetMutationLock(fleet: Pick<Fleet, "isSingleInstance" | "withLock" | "catchUp">): MutationLock {
  const processLock = createMutationLock();
  if (fleet.isSingleInstance) return processLock;
  return (change) =>
    processLock(() =>
      fleet.withLock(MANAGEMENT_LOCK, async () => {
        await fleet.catchUp();
        return change();
      }),
    );
}

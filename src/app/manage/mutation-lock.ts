import type { Fleet } from "../../domain/fleet/fleet.ts";

/** Runs a change after the preceding ones. */
export type Serialize = <T>(change: () => Promise<T>) => Promise<T>;

/** Runs changes one at a time within this process, so that each one builds on the result of the previous one. */
export class MutationLock {
  #last: Promise<unknown> = Promise.resolve();

  run<T>(change: () => Promise<T>): Promise<T> {
    const current = this.#last.then(change);
    // The next change also runs after a failure, which only this change's caller sees.
    this.#last = current.catch(() => undefined);
    return current;
  }
}

/** Wallets are opened under every `workspace:` lock, so ledger changes are serialized with the opening too. */
const MANAGEMENT_LOCK = "workspace:management";

type LockingFleet = Pick<Fleet, "isSingleInstance" | "withLock" | "catchUp">;

/** Serializes across all instances; each change first catches up with what the other instances have changed. */
class FleetMutationLock extends MutationLock {
  readonly #fleet: LockingFleet;

  constructor(fleet: LockingFleet) {
    super();
    this.#fleet = fleet;
  }

  override run<T>(change: () => Promise<T>): Promise<T> {
    return super.run(() =>
      this.#fleet.withLock(MANAGEMENT_LOCK, async () => {
        await this.#fleet.catchUp();
        return change();
      }),
    );
  }
}

export function fleetMutationLock(fleet: LockingFleet): MutationLock {
  return fleet.isSingleInstance ? new MutationLock() : new FleetMutationLock(fleet);
}

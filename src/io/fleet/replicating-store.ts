import type { Fleet } from "../../domain/fleet/fleet.ts";
import type { Store } from "../store/sql/store.ts";

/** The same store; what is changed in it is known to every instance before the one who changed it hears that it is done. */
export function replicatingStore(store: Store, fleet: Pick<Fleet, "isSingleInstance" | "publishChange" | "assertLocksHeld">): Store {
  if (fleet.isSingleInstance) return store;
  return {
    ...store,
    async change(work) {
      // Undefined: nothing was changed, or it did not get that far.
      let of: string | null | undefined;
      const changing = store.change(async (writers) => {
        const changed = await work(writers);
        // Whoever stood still for long does not write over what others have changed meanwhile.
        fleet.assertLocksHeld();
        of = changed.audit?.workspaceId;
        return changed;
      });
      try {
        await changing;
      } catch (error) {
        // Where the answer of the commit got lost it may have been made. That nobody knows is what must be told here.
        if (of !== undefined) await fleet.publishChange(of).catch(() => undefined);
        throw error;
      }
      if (of !== undefined) await fleet.publishChange(of);
      return changing;
    },
  };
}

import type { Fleet } from "../../domain/fleet/fleet.ts";
import type { Store } from "../store/sql/store.ts";

/** The same store; what is changed in it is known to every instance before the one who changed it hears that it is done. */
export function toldStore(store: Store, fleet: Pick<Fleet, "isAlone" | "changed">): Store {
  if (fleet.isAlone) return store;
  return {
    ...store,
    async change(work) {
      // Undefined: nothing was changed, or it did not get that far.
      let of: string | null | undefined;
      const changing = store.change(async (writers) => {
        const changed = await work(writers);
        of = changed.audit?.workspaceId;
        return changed;
      });
      try {
        return await changing;
      } finally {
        // Also where the answer of the commit got lost: it may have been made.
        if (of !== undefined) await fleet.changed(of);
      }
    },
  };
}

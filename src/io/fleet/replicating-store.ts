import type { Fleet } from "../../domain/fleet/fleet.ts";
import type { Store } from "../store/sql/store.ts";

type ReplicationFleet = Pick<Fleet, "isSingleInstance" | "publishChange" | "assertLocksHeld">;

/** The same store; `change` resolves only after every instance has been notified of the change. */
export function replicatingStore(store: Store, fleet: ReplicationFleet): Store {
  if (fleet.isSingleInstance) return store;
  return {
    ...store,
    async change(work) {
      // Undefined: nothing changed, or the transaction did not get that far.
      let changedWorkspaceId: string | null | undefined;
      const changing = store.change(async (writers) => {
        const changed = await work(writers);
        // After an event-loop stall the lock may be lost: the transaction must not overwrite later changes.
        fleet.assertLocksHeld();
        changedWorkspaceId = changed.audit?.workspaceId;
        return changed;
      });
      try {
        await changing;
      } catch (error) {
        // The commit may have succeeded although its reply was lost. The caller gets that error, not one of propagation.
        if (changedWorkspaceId !== undefined) await fleet.publishChange(changedWorkspaceId).catch(() => undefined);
        throw error;
      }
      if (changedWorkspaceId !== undefined) await fleet.publishChange(changedWorkspaceId);
      return changing;
    },
  };
}

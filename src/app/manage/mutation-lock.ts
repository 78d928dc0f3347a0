import type { Fleet } from "../../domain/fleet/fleet.ts";
import { createMutationLock, type MutationLock } from "./deps.ts";

/** Changes of money wait for it too, so it has the name of what wallets are not opened beside. */
const MANAGEMENT_LOCK = "workspace:management";

/** Changes of management one after the other, on whichever instance: each builds on all that were made before. */
export function fleetMutationLock(fleet: Pick<Fleet, "isSingleInstance" | "withLock" | "catchUp">): MutationLock {
  const inTurn = createMutationLock();
  if (fleet.isSingleInstance) return inTurn;
  return (change) =>
    inTurn(() =>
      fleet.withLock(MANAGEMENT_LOCK, async () => {
        await fleet.catchUp();
        return change();
      }),
    );
}

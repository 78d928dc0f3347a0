import type { Fleet } from "../../domain/fleet/fleet.ts";
import { type InTurn, makeTurns } from "./deps.ts";

/** Changes of money wait for it too, so it has the name of what wallets are not opened beside. */
const MANAGEMENT = "workspace:management";

/** Changes of management one after the other, on whichever instance: each builds on all that were made before. */
export function fleetTurns(fleet: Pick<Fleet, "isSingleInstance" | "withLock" | "catchUp">): InTurn {
  const inTurn = makeTurns();
  if (fleet.isSingleInstance) return inTurn;
  return (change) =>
    inTurn(() =>
      fleet.withLock(MANAGEMENT, async () => {
        await fleet.catchUp();
        return change();
      }),
    );
}

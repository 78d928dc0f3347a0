import type { Fleet } from "../../domain/fleet/fleet.ts";

/** A gateway of one process. */
export function singleInstanceFleet(id: string): Fleet {
  return {
    id,
    isSingleInstance: true,
    isLeader: true,
    instanceCount: 1,
    withLock: (_name, work) => work(),
    assertLocksHeld: () => undefined,
    publishChange: async () => undefined,
    catchUp: async () => undefined,
    isCurrent: () => true,
    refreshWorkspace: async () => undefined,
    instanceIds: async () => [id],
  };
}

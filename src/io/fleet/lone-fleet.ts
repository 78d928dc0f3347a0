import type { Fleet } from "../../domain/fleet/fleet.ts";

/** One process that shares nothing with anybody. */
export function loneFleet(id: string): Fleet {
  return {
    id,
    isAlone: true,
    leads: true,
    size: 1,
    alone: (_name, work) => work(),
    demandTurn: () => undefined,
    changed: async () => undefined,
    catchUp: async () => undefined,
    isCurrent: () => true,
    freshen: async () => undefined,
    peers: async () => [id],
  };
}

import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Nodes } from "./nodes.ts";
import { type DoorRules, PeerDoor, type PeerRefusal } from "./peer-door.ts";
import type { PeerKeys } from "./peer-keys.ts";
import { PeerLinks, type PeerRules } from "./peer-links.ts";
import { type Myself, Presence, type PresenceRules } from "./presence.ts";

export type PeersParts = {
  readonly board: CoordinationStore;
  readonly keys: PeerKeys;
  readonly nodes: Nodes;
  readonly me: Pick<Myself, "id" | "run">;
  readonly rules: DoorRules & PeerRules & PresenceRules;
  /** Where it listens, and the address by which others come there. */
  readonly host: string;
  readonly port: number;
  addressAt(port: number): string;
  /** Told of everybody who was turned away. */
  refused(why: PeerRefusal): void;
  problem(error: unknown): void;
};

/** The other instances of one gateway: nodes there serve requests here, and the other way round. */
export type Peers = {
  /** Where they reach this one. */
  readonly url: string;
  /** Nodes go to other instances, and what those have asked for is finished. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
};

export async function openPeers(parts: PeersParts): Promise<Peers> {
  const { board, keys, nodes, me, rules, host, port, addressAt, refused, problem } = parts;
  const door = new PeerDoor(rules, keys, nodes, refused);
  const url = addressAt(await door.listen(host, port));
  const presence = new Presence(board, { ...me, url, keys: () => keys.ids() }, rules, {
    changed: (nodeId) => nodes.moved(nodeId),
    aside: (nodeId, reason) => void nodes.setAside(nodeId, reason),
    problem,
  });
  const links = new PeerLinks(rules, keys, (unreached) => presence.doubt(unreached));
  await presence.start();
  nodes.join({
    of: (nodeId) => presence.of(nodeId),
    send: (to, request, listener) => links.send(to, request, listener),
    here: (live, leaving) => presence.here(live, leaving),
    gone: (nodeId) => presence.gone(nodeId),
    aside: (nodeId, reason) => presence.aside(nodeId, reason),
    cut: () => links.close(),
  });
  return {
    url,
    async drain(timeoutMs) {
      nodes.leave();
      await door.drain(timeoutMs);
    },
    async close() {
      await presence.stop();
      links.close();
      await door.close();
    },
  };
}

import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { type LocalInstance, NodeDirectory, type NodeDirectoryRules } from "./node-directory.ts";
import type { NodeRegistry } from "./node-registry.ts";
import { PeerClient, type PeerClientRules } from "./peer-client.ts";
import type { PeerKeys } from "./peer-keys.ts";
import { type PeerRejection, PeerServer, type PeerServerRules } from "./peer-server.ts";

export type PeerNetworkDeps = {
  readonly board: CoordinationStore;
  readonly keys: PeerKeys;
  readonly nodes: NodeRegistry;
  readonly instance: Pick<LocalInstance, "id" | "run">;
  readonly rules: PeerServerRules & PeerClientRules & NodeDirectoryRules;
  /** Where it listens, and the address by which others come there. */
  readonly host: string;
  readonly port: number;
  advertisedUrl(port: number): string;
  /** Told of everybody who was turned away. */
  onRejected(why: PeerRejection): void;
  onError(error: unknown): void;
};

/** The other instances of one gateway: nodes there serve requests here, and the other way round. */
export type PeerNetwork = {
  /** Where they reach this one. */
  readonly url: string;
  /** Nodes go to other instances, and what those have asked for is finished. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
};

export async function openPeerNetwork(parts: PeerNetworkDeps): Promise<PeerNetwork> {
  const { board, keys, nodes, instance, rules, host, port, advertisedUrl, onRejected, onError } = parts;
  const door = new PeerServer(rules, keys, nodes, onRejected);
  const url = advertisedUrl(await door.listen(host, port));
  const presence = new NodeDirectory(board, { ...instance, url, keys: () => keys.ids() }, rules, {
    onChanged: (nodeId) => nodes.refreshRemoteConnection(nodeId),
    onCircuitOpened: (nodeId, reason) => void nodes.openCircuit(nodeId, reason),
    onError,
  });
  const links = new PeerClient(rules, keys, (unreached) => presence.markUnreachable(unreached));
  await presence.start();
  nodes.connectPeers({
    find: (nodeId) => presence.find(nodeId),
    send: (to, request, listener) => links.send(to, request, listener),
    publish: (live, leaving) => presence.publish(live, leaving),
    withdraw: (nodeId) => presence.withdraw(nodeId),
    publishCircuitOpen: (nodeId, reason) => presence.publishCircuitOpen(nodeId, reason),
    abort: () => links.close(),
  });
  return {
    url,
    async drain(timeoutMs) {
      nodes.startLeaving();
      await door.drain(timeoutMs);
    },
    async close() {
      await presence.stop();
      links.close();
      await door.close();
    },
  };
}

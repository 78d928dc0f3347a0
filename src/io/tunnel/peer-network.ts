import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import { type LocalInstance, NodeDirectory, type NodeDirectoryRules } from "./node-directory.ts";
import type { NodeRegistry } from "./node-registry.ts";
import { PeerClient, type PeerClientRules } from "./peer-client.ts";
import type { PeerKeys } from "./peer-keys.ts";
import { type PeerRejection, PeerServer, type PeerServerRules } from "./peer-server.ts";

export type PeerNetworkDeps = {
  readonly store: CoordinationStore;
  readonly keys: PeerKeys;
  readonly nodes: NodeRegistry;
  readonly instance: Pick<LocalInstance, "id" | "runId">;
  readonly rules: PeerServerRules & PeerClientRules & NodeDirectoryRules;
  /** Where this instance listens, and the address that other instances use. */
  readonly host: string;
  readonly port: number;
  advertisedUrl(port: number): string;
  onRejected(why: PeerRejection): void;
  onError(error: unknown): void;
};

/** The peer link to the other instances of one gateway: nodes connected to any instance serve requests of all. */
export type PeerNetwork = {
  readonly url: string;
  /** Asks nodes to reconnect elsewhere and waits for the requests of other instances. */
  drain(timeoutMs: number): Promise<void>;
  close(): Promise<void>;
};

export async function openPeerNetwork(deps: PeerNetworkDeps): Promise<PeerNetwork> {
  const { store, keys, nodes, instance, rules, host, port, advertisedUrl, onRejected, onError } = deps;
  const server = new PeerServer(rules, keys, nodes, onRejected);
  const url = advertisedUrl(await server.listen(host, port));
  const directory = new NodeDirectory(store, { ...instance, url, keys: () => keys.ids() }, rules, {
    onChanged: (nodeId) => nodes.refreshRemoteConnection(nodeId),
    onCircuitOpened: (nodeId, reason) => void nodes.openCircuit(nodeId, reason),
    onError,
  });
  const client = new PeerClient(rules, keys, (peerUrl) => directory.markUnreachable(peerUrl));
  await directory.start();
  nodes.connectPeers({
    find: (nodeId) => directory.find(nodeId),
    send: (target, request, handler) => client.send(target, request, handler),
    publish: (node, leaving) => directory.publish(node, leaving),
    withdraw: (nodeId) => directory.withdraw(nodeId),
    publishCircuitOpen: (nodeId, reason) => directory.publishCircuitOpen(nodeId, reason),
    abort: () => client.close(),
  });
  return {
    url,
    async drain(timeoutMs) {
      nodes.startLeaving();
      await server.drain(timeoutMs);
    },
    async close() {
      await directory.stop();
      client.close();
      await server.close();
    },
  };
}

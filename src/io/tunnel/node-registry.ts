import type { IncomingMessage } from "node:http";
import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { nodeModelId } from "../../domain/catalogue/node-catalogue.ts";
import type { CircuitBreakerRules } from "../../domain/routing/failing-circuits.ts";
import type { ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import { type AnnouncedModel, NODE_SURFACES, type WorkspaceNode } from "../../domain/tenancy/node.ts";
import type { Clock } from "../../kit/clock.ts";
import { sparseLookup } from "../../kit/sparse-lookup.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { UpstreamCall, UpstreamRequest, UpstreamResponseHandler } from "../upstream/transport.ts";
import type { RemoteNodeConnection } from "./node-directory.ts";
import { type NodeCircuitRules, NodeEntry, type OpenNodeCircuit } from "./node-entry.ts";
import { type NodeOverlay, WorkspaceNodeOverlay } from "./node-overlay.ts";
import type { RemoteNodeTarget } from "./peer-client.ts";
import type { LocalNodes } from "./peer-server.ts";
import { type ConnectedNode, TunnelHub, type TunnelHubRules } from "./tunnel-hub.ts";

type NodeRegistryRules = Omit<TunnelHubRules, "clock"> & {
  readonly clock: Clock;
  readonly breakers: CircuitBreakerRules;
  readonly circuit: NodeCircuitRules;
  /** How often connected nodes are recorded as seen: after a crash this is the only trace. */
  readonly seenEveryMs: number;
};

/** Notifications about nodes; not awaited, because they happen outside of requests. */
export type NodeEvents = {
  /** Nodes connected, changed, disconnected, or are still connected. */
  onSeen(nodeIds: readonly string[], atMs: number): void;
  onCircuitOpened(node: WorkspaceNode, circuit: OpenNodeCircuit): void;
};

/** The nodes of other instances, and requests to them. */
export type RemoteNodes = {
  find(nodeId: string): RemoteNodeConnection | undefined;
  send(to: RemoteNodeTarget, request: UpstreamRequest, handler: UpstreamResponseHandler): UpstreamCall;
  publish(live: ConnectedNode, leaving: boolean): void;
  withdraw(nodeId: string): void;
  publishCircuitOpen(nodeId: string, reason: string): void;
  abort(): void;
};

type NodeStatus = Readonly<Pick<NodeEntry, "live" | "inFlight" | "openCircuit" | "lastError" | "lastSeenAtMs">> & {
  /** The last round-trip time of the tunnel. */
  readonly latencyMs: number | null;
};

const OFFLINE: NodeStatus = {
  live: undefined,
  inFlight: 0,
  openCircuit: null,
  lastError: null,
  lastSeenAtMs: null,
  latencyMs: null,
};

/** A model of a node that does not serve it now, and the reason. */
export type UnavailableModel = { readonly reason: string; readonly reachability: ReachabilitySource };

/** Assumed for models of offline nodes: unknown capabilities exclude nothing. */
const ANY_MODEL: Omit<AnnouncedModel, "id"> = {
  surfaces: NODE_SURFACES,
  contextTokens: null,
  maxOutputTokens: null,
  tools: null,
  jsonSchema: null,
  imageInput: true,
  reasoning: null,
};

const NO_REACHABILITY: ReachabilitySource = { forModel: () => ({ endpoints: [], obstacles: [] }), pool: () => [] };

/** All nodes of all workspaces: their connections, circuits, and the models they add to their workspaces. */
export class NodeRegistry implements LocalNodes {
  readonly #rules: NodeRegistryRules;
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #events: NodeEvents;
  readonly #hub: TunnelHub;
  readonly #entries = new Map<string, NodeEntry>();
  readonly #byDigest = new Map<string, NodeEntry>();
  readonly #byWorkspace = new Map<string, Set<NodeEntry>>();
  readonly #overlays = new Map<string, NodeOverlay>();
  /** What the nodes of a workspace add, by its id; undefined without serving nodes, which is nearly always. */
  readonly overlayFor = sparseLookup(this.#overlays);
  #changeCount = 0;
  #remote: RemoteNodes | undefined;
  #isLeaving = false;
  #seenTimer: Timer | undefined;

  constructor(rules: NodeRegistryRules, snapshot: () => CatalogueSnapshot, events: NodeEvents) {
    this.#rules = rules;
    this.#snapshot = snapshot;
    this.#events = events;
    this.#hub = new TunnelHub(rules, {
      onAnnounced: (live) => this.#onAnnounced(live),
      onDisconnected: (nodeId) => this.#onDisconnected(nodeId),
    });
  }

  /** A node as the request path needs it; undefined once it was removed. */
  entry(nodeId: string): NodeEntry | undefined {
    return this.#entries.get(nodeId);
  }

  /** The nodes of a workspace, connected or not. */
  listByWorkspace(workspaceId: string): readonly WorkspaceNode[] {
    return [...(this.#byWorkspace.get(workspaceId) ?? [])].map(({ node }) => node);
  }

  find(nodeId: string): WorkspaceNode | undefined {
    return this.#entries.get(nodeId)?.node;
  }

  get closed(): boolean {
    return this.#hub.closed;
  }

  /** `connected`: to any instance; `local`: to this one. */
  get counts(): Readonly<Record<"total" | "connected" | "local" | "circuitOpen", number>> {
    const all = [...this.#entries.values()];
    const circuitOpen = all.filter((entry) => entry.openCircuit !== null).length;
    const connected = all.filter((entry) => entry.live !== undefined).length;
    return { total: all.length, connected, local: this.#hub.size, circuitOpen };
  }

  findByTokenDigest(digest: string): WorkspaceNode | undefined {
    return this.#byDigest.get(digest)?.node;
  }

  statusOf(nodeId: string): NodeStatus {
    const entry = this.#entries.get(nodeId);
    if (entry === undefined) return OFFLINE;
    const { live, inFlight, openCircuit, lastError, lastSeenAtMs } = entry;
    return { live, inFlight, openCircuit, lastError, lastSeenAtMs, latencyMs: this.#hub.loadOf(nodeId).latencyMs };
  }

  /** Adds or updates a node. A changed token closes connections with the old one. */
  upsert(node: WorkspaceNode): void {
    this.#changeCount += 1;
    this.#upsertEntry(node);
  }

  /** Counts local changes: data read from the store before the last change may be stale. */
  get changeCount(): number {
    return this.#changeCount;
  }

  /** Replaces the nodes of a workspace, or (null) of all workspaces, with those of the store. Unchanged nodes keep their state. */
  replaceAll(workspaceId: string | null, stored: readonly WorkspaceNode[]): void {
    const storedIds = new Set(stored.map(({ id }) => id));
    const there = workspaceId === null ? this.#entries.values() : (this.#byWorkspace.get(workspaceId) ?? []);
    for (const { node } of [...there]) if (!storedIds.has(node.id)) this.#removeEntry(node.id);
    for (const node of stored) if (!isUnchanged(this.#entries.get(node.id)?.node, node)) this.#upsertEntry(node);
  }

  #upsertEntry(node: WorkspaceNode): void {
    const before = this.#entries.get(node.id);
    if (before !== undefined) {
      this.#byDigest.delete(before.node.digest);
      if (before.node.digest !== node.digest) this.#hub.disconnect(node.id);
      before.node = node;
    }
    const entry = before ?? new NodeEntry(node, this.#rules.clock, this.#rules.breakers);
    if (before === undefined) entry.setRemoteConnection(this.#remote?.find(node.id)?.connection);
    this.#entries.set(node.id, entry);
    this.#byDigest.set(node.digest, entry);
    const beside = this.#byWorkspace.get(node.workspaceId) ?? new Set();
    this.#byWorkspace.set(node.workspaceId, beside.add(entry));
    if (entry.live !== undefined) this.#rebuildOverlay(node.workspaceId);
  }

  remove(nodeId: string): void {
    this.#changeCount += 1;
    this.#removeEntry(nodeId);
  }

  #removeEntry(nodeId: string): void {
    const entry = this.#entries.get(nodeId);
    if (entry === undefined) return;
    const { workspaceId, digest } = entry.node;
    entry.cancelRecovery();
    this.#entries.delete(nodeId);
    this.#byDigest.delete(digest);
    this.#byWorkspace.get(workspaceId)?.delete(entry);
    if (this.#byWorkspace.get(workspaceId)?.size === 0) this.#byWorkspace.delete(workspaceId);
    this.#hub.disconnect(nodeId);
    this.#rebuildOverlay(workspaceId);
  }

  /** Connects the registry to the other instances: publishes local nodes and uses remote ones. */
  connectPeers(remote: RemoteNodes): void {
    this.#remote = remote;
    for (const entry of this.#entries.values()) {
      if (entry.live?.instance === null) remote.publish(entry.live, this.#isLeaving);
      this.refreshRemoteConnection(entry.node.id);
    }
  }

  /** The directory has new information about a node. */
  refreshRemoteConnection(nodeId: string): void {
    const entry = this.#entries.get(nodeId);
    if (entry === undefined || this.#hub.closed) return;
    const before = entry.live;
    entry.setRemoteConnection(this.#remote?.find(nodeId)?.connection);
    if (entry.live !== before) this.#rebuildOverlay(entry.node.workspaceId);
  }

  /** This instance is stopping and others are not: nodes reconnect there and finish running requests here. */
  startLeaving(): void {
    if (this.#remote === undefined) return;
    this.#isLeaving = true;
    for (const entry of this.#entries.values()) {
      const here = entry.startLeaving();
      if (here === undefined) continue;
      this.#remote.publish(here, true);
      this.#rebuildOverlay(entry.node.workspaceId);
    }
    this.#hub.requestReconnect();
  }

  /** Opens a request of another instance to a node that is connected here. */
  openStream(nodeId: string, workspaceId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | "absent" | "full" {
    const entry = this.#entries.get(nodeId);
    if (entry?.node.workspaceId !== workspaceId) return "absent";
    if (entry.acquire() === "full") return "full";
    const stream = this.#hub.open(nodeId, headers);
    if (stream === undefined) entry.release();
    else stream.once("close", () => entry.release());
    return stream ?? "absent";
  }

  /** Accepts a connection with a valid token. */
  accept(node: WorkspaceNode, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#hub.accept(node.id, address, request, socket, head);
  }

  /** A response was implausible: opens the circuit for a time that doubles with every opening. */
  reportImplausible(nodeId: string, reason: string): void {
    const entry = this.openCircuit(nodeId, reason);
    if (entry?.openCircuit == null) return;
    this.#events.onCircuitOpened(entry.node, entry.openCircuit);
    this.#remote?.publishCircuitOpen(nodeId, reason);
  }

  /** Opens the circuit locally, for findings of this or another instance. */
  openCircuit(nodeId: string, reason: string): NodeEntry | undefined {
    const entry = this.#entries.get(nodeId);
    // Concurrent requests report the same finding.
    if (entry === undefined || entry.openCircuit !== null) return undefined;
    const openMs = entry.recordCircuitOpening(reason, this.#rules.circuit);
    entry.setRecoveryTimer(
      this.#rules.timers.after(openMs, () => {
        entry.openCircuit = null;
        this.#rebuildOverlay(entry.node.workspaceId);
      }),
    );
    this.#rebuildOverlay(entry.node.workspaceId);
    return entry;
  }

  /** A model of a node that is offline or has an open circuit; undefined if the workspace has no such node or model. */
  unavailableModel(workspaceId: string, modelId: string): UnavailableModel | undefined {
    for (const entry of this.#byWorkspace.get(workspaceId) ?? []) {
      const stem = nodeModelId(entry.node, "");
      if (!modelId.startsWith(stem)) continue;
      const id = modelId.slice(stem.length);
      const announced = hasNoModels(entry)
        ? { ...ANY_MODEL, id }
        : entry.announcedModels?.find((model) => model.id === id);
      if (announced === undefined) continue;
      return {
        reason: unavailableReason(entry),
        reachability: new WorkspaceNodeOverlay([entry], this.#snapshot, () => [announced]).reachabilityOver(
          NO_REACHABILITY,
        ),
      };
    }
    return undefined;
  }

  send(request: UpstreamRequest, handler: UpstreamResponseHandler): UpstreamCall {
    if (this.#remote === undefined) return this.#hub.send(request, handler);
    const entry = this.#entries.get(new URL(request.url).hostname);
    const remoteConnection = entry?.live?.instance == null ? undefined : this.#remote.find(entry.node.id);
    if (entry === undefined || remoteConnection === undefined) return this.#hub.send(request, handler);
    const { id: nodeId, workspaceId } = entry.node;
    return this.#remote.send({ nodeId, workspaceId, at: remoteConnection.at }, request, handler);
  }

  close(): void {
    cancelTimer(this.#seenTimer);
    for (const entry of this.#entries.values()) entry.cancelRecovery();
    this.#hub.close();
    this.#remote?.abort();
  }

  #onAnnounced(live: ConnectedNode): void {
    const entry = this.#entries.get(live.nodeId);
    if (entry === undefined) return;
    entry.setLocalConnection(live);
    this.#remote?.publish(live, this.#isLeaving);
    this.#rebuildOverlay(entry.node.workspaceId);
    this.#events.onSeen([live.nodeId], this.#rules.clock.nowMs());
    this.#seenTimer ??= this.#scheduleSeen();
  }

  #scheduleSeen(): Timer {
    return this.#rules.timers.after(this.#rules.seenEveryMs, () => {
      const there = this.#hub.connectedIds;
      this.#seenTimer = there.length === 0 ? undefined : this.#scheduleSeen();
      if (there.length > 0) this.#events.onSeen(there, this.#rules.clock.nowMs());
    });
  }

  #onDisconnected(nodeId: string): void {
    this.#remote?.withdraw(nodeId);
    const entry = this.#entries.get(nodeId);
    if (entry?.live === undefined) return;
    // While the gateway is stopping, entries stay: requests fail with `stopped`, not with an offline node.
    if (!this.#hub.closed) {
      entry.clearLocalConnection();
      this.#rebuildOverlay(entry.node.workspaceId);
    }
    this.#events.onSeen([nodeId], this.#rules.clock.nowMs());
  }

  #rebuildOverlay(workspaceId: string): void {
    const servingEntries = [...(this.#byWorkspace.get(workspaceId) ?? [])].filter(
      ({ servedModels }) => servedModels.length > 0,
    );
    if (servingEntries.length === 0) this.#overlays.delete(workspaceId);
    else this.#overlays.set(workspaceId, new WorkspaceNodeOverlay(servingEntries, this.#snapshot));
  }
}

/** The node or its local server is offline, so its models are unknown. */
function hasNoModels({ announcedModels }: NodeEntry): boolean {
  return announcedModels === undefined || announcedModels.length === 0;
}

function unavailableReason({ node, live, openCircuit, announcedModels }: NodeEntry): string {
  if (live === undefined)
    return `The node ${node.name} is not connected. Start its agent with \`gateway node connect\`, or try again shortly.`;
  if (announcedModels?.length === 0)
    return `The node ${node.name} is connected, but its local server lists no models: it is not running, or is starting. Check it, or try again shortly.`;
  if (openCircuit === null) return `The node ${node.name} is reconnecting. Try again shortly.`;
  return `The circuit of node ${node.name} is open until ${new Date(openCircuit.untilMs).toISOString()}: ${openCircuit.reason}. Check its local server, or try again then.`;
}

/** Compares the mutable fields; `lastSeenAtMs` is more recent here than in the store. */
function isUnchanged(current: WorkspaceNode | undefined, stored: WorkspaceNode): boolean {
  const comparable = ({ lastSeenAtMs: _, ...fields }: WorkspaceNode) =>
    JSON.stringify(Object.entries(fields).toSorted());
  return current !== undefined && comparable(current) === comparable(stored);
}

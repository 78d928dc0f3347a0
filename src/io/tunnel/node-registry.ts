import type { IncomingMessage } from "node:http";
import type { ClientHttp2Stream, IncomingHttpHeaders } from "node:http2";
import type { Duplex } from "node:stream";
import type { CatalogueSnapshot } from "../../domain/catalogue/catalogue.ts";
import { nodeModelId } from "../../domain/catalogue/node-catalogue.ts";
import type { CircuitBreakerRules } from "../../domain/routing/circuit-breakers.ts";
import type { ReachabilitySource } from "../../domain/routing/node-reachability.ts";
import type { AnnouncedModel, WorkspaceNode } from "../../domain/tenancy/node.ts";
import type { Clock } from "../../kit/clock.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { Transport, UpstreamCall, UpstreamRequest, UpstreamResponseHandler } from "../upstream/transport.ts";
import type { RemoteNodeConnection } from "./node-directory.ts";
import { type NodeCircuitRules, NodeEntry, type OpenNodeCircuit } from "./node-entry.ts";
import { type NodeOverlay, WorkspaceNodeOverlay } from "./node-overlay.ts";
import type { RemoteNodeTarget } from "./peer-client.ts";
import type { LocalNodes } from "./peer-server.ts";
import { type ConnectedNode, TUNNEL_SCHEME, TunnelHub, type TunnelHubRules } from "./tunnel-hub.ts";

type NodeRegistryRules = Omit<TunnelHubRules, "clock"> & {
  readonly clock: Clock;
  readonly breakers: CircuitBreakerRules;
  readonly circuit: NodeCircuitRules;
  /** How often it is told which are still there: after a crash that is all that anyone knows. */
  readonly seenEveryMs: number;
};

/** Told of what becomes of nodes by itself: it happens beside the requests, so nobody waits for what is done then. */
export type NodeEvents = {
  /** They came, changed what they serve, went, or are still there. */
  onSeen(nodeIds: readonly string[], atMs: number): void;
  onCircuitOpened(node: WorkspaceNode, aside: OpenNodeCircuit): void;
};

/** Other instances of the same gateway: what they hold, and the way to it. */
export type RemoteNodes = {
  find(nodeId: string): RemoteNodeConnection | undefined;
  send(to: RemoteNodeTarget, request: UpstreamRequest, listener: UpstreamResponseHandler): UpstreamCall;
  /** What they are told. */
  publish(live: ConnectedNode, leaving: boolean): void;
  withdraw(nodeId: string): void;
  publishCircuitOpen(nodeId: string, reason: string): void;
  /** This instance stops, and what it still asks for there ends. */
  abort(): void;
};

/** How a node is now. */
type NodeStatus = Readonly<Pick<NodeEntry, "live" | "running" | "aside" | "lastError" | "lastSeenAtMs">> & {
  /** Of the last round trip through the tunnel. */
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

/** A model that would be served: why it is not, and what could be called of it. */
export type UnavailableModel = { readonly why: string; readonly reach: ReachabilitySource };

/** What is not known of a node that is away is not held against it. */
const ANYTHING: Omit<AnnouncedModel, "id"> = {
  surfaces: ["chat", "embeddings"],
  contextTokens: null,
  maxOutputTokens: null,
  tools: null,
  jsonSchema: null,
  imageInput: true,
  reasoning: null,
};

const NOBODY_ELSE: ReachabilitySource = { forModel: () => ({ endpoints: [], obstacles: [] }), pool: () => [] };

/** The book of all nodes: who they are, which are there, and what their workspaces can call because of them. */
export class NodeRegistry implements LocalNodes {
  readonly #rules: NodeRegistryRules;
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #events: NodeEvents;
  readonly #hub: TunnelHub;
  readonly #held = new Map<string, NodeEntry>();
  readonly #byDigest = new Map<string, NodeEntry>();
  readonly #byWorkspace = new Map<string, Set<NodeEntry>>();
  readonly #layers = new Map<string, WorkspaceNodeOverlay>();
  #changes = 0;
  #elsewhere: RemoteNodes | undefined;
  #leaving = false;
  #watching: Timer | undefined;

  constructor(rules: NodeRegistryRules, snapshot: () => CatalogueSnapshot, events: NodeEvents) {
    this.#rules = rules;
    this.#snapshot = snapshot;
    this.#events = events;
    this.#hub = new TunnelHub(rules, {
      onAnnounced: (live) => this.#announced(live),
      onDisconnected: (nodeId) => this.#lost(nodeId),
    });
  }

  /** Undefined for a workspace without a node that serves now, which is nearly every one. */
  overlayFor(workspaceId: string): NodeOverlay | undefined {
    return this.#layers.size === 0 ? undefined : this.#layers.get(workspaceId);
  }

  /** A node as the request path needs it; undefined once it was removed. */
  held(nodeId: string): NodeEntry | undefined {
    return this.#held.get(nodeId);
  }

  /** Nodes of a workspace, connected or not. */
  listByWorkspace(workspaceId: string): readonly WorkspaceNode[] {
    return [...(this.#byWorkspace.get(workspaceId) ?? [])].map(({ node }) => node);
  }

  find(nodeId: string): WorkspaceNode | undefined {
    return this.#held.get(nodeId)?.node;
  }

  get closed(): boolean {
    return this.#hub.closed;
  }

  /** `connected`: to any instance; `here`: to this one. */
  get counts(): Readonly<Record<"total" | "connected" | "here" | "aside", number>> {
    const all = [...this.#held.values()];
    const aside = all.filter((held) => held.openCircuit !== null).length;
    const connected = all.filter((held) => held.live !== undefined).length;
    return { total: all.length, connected, here: this.#hub.size, aside };
  }

  findByTokenDigest(digest: string): WorkspaceNode | undefined {
    return this.#byDigest.get(digest)?.node;
  }

  statusOf(nodeId: string): NodeStatus {
    const held = this.#held.get(nodeId);
    if (held === undefined) return OFFLINE;
    const { live, inFlight, openCircuit, lastError, lastSeenAtMs } = held;
    return { live, inFlight, openCircuit, lastError, lastSeenAtMs, latencyMs: this.#hub.loadOf(nodeId).latencyMs };
  }

  /** A new node, or other words about one. With another token whoever came with the old one is cut off at once. */
  upsert(node: WorkspaceNode): void {
    this.#changes += 1;
    this.#put(node);
  }

  /** How often something was changed here: what was read from the store before the last time may be out of date. */
  get changeCount(): number {
    return this.#changes;
  }

  /** All nodes of a workspace, or (null) of all workspaces, as the store has them. Those that are the same are left alone. */
  replaceAll(workspaceId: string | null, kept: readonly WorkspaceNode[]): void {
    const stays = new Set(kept.map(({ id }) => id));
    const there = workspaceId === null ? this.#held.values() : (this.#byWorkspace.get(workspaceId) ?? []);
    for (const { node } of [...there]) if (!stays.has(node.id)) this.#drop(node.id);
    for (const node of kept) if (!isSame(this.#held.get(node.id)?.node, node)) this.#put(node);
  }

  #put(node: WorkspaceNode): void {
    const before = this.#held.get(node.id);
    if (before !== undefined) {
      this.#byDigest.delete(before.node.digest);
      if (before.node.digest !== node.digest) this.#hub.disconnect(node.id);
      before.node = node;
    }
    const held = before ?? new NodeEntry(node, this.#rules.clock, this.#rules.breakers);
    if (before === undefined) held.setRemoteConnection(this.#elsewhere?.find(node.id)?.connection);
    this.#held.set(node.id, held);
    this.#byDigest.set(node.digest, held);
    const beside = this.#byWorkspace.get(node.workspaceId) ?? new Set();
    this.#byWorkspace.set(node.workspaceId, beside.add(held));
    if (held.live !== undefined) this.#renew(node.workspaceId);
  }

  remove(nodeId: string): void {
    this.#changes += 1;
    this.#drop(nodeId);
  }

  #drop(nodeId: string): void {
    const held = this.#held.get(nodeId);
    if (held === undefined) return;
    const { workspaceId, digest } = held.node;
    held.cancelRecovery();
    this.#held.delete(nodeId);
    this.#byDigest.delete(digest);
    this.#byWorkspace.get(workspaceId)?.delete(held);
    if (this.#byWorkspace.get(workspaceId)?.size === 0) this.#byWorkspace.delete(workspaceId);
    this.#hub.disconnect(nodeId);
    this.#renew(workspaceId);
  }

  /** From now on other instances are told of nodes here, and nodes there are served through them. */
  connectPeers(elsewhere: RemoteNodes): void {
    this.#elsewhere = elsewhere;
    for (const held of this.#held.values()) {
      if (held.live?.instance === null) elsewhere.publish(held.live, this.#leaving);
      this.refreshRemoteConnection(held.node.id);
    }
  }

  /** Something else is known of where a node is. */
  refreshRemoteConnection(nodeId: string): void {
    const held = this.#held.get(nodeId);
    if (held === undefined || this.#hub.closed) return;
    const before = held.live;
    held.setRemoteConnection(this.#elsewhere?.find(nodeId)?.connection);
    if (held.live !== before) this.#renew(held.node.workspaceId);
  }

  /** This instance stops, and others do not: nodes go there, and finish here what runs. */
  startLeaving(): void {
    if (this.#elsewhere === undefined) return;
    this.#leaving = true;
    for (const held of this.#held.values()) {
      const here = held.startLeaving();
      if (here === undefined) continue;
      this.#elsewhere.publish(here, true);
      this.#renew(held.node.workspaceId);
    }
    this.#hub.requestReconnect();
  }

  /** What another instance has for a node that is connected here. */
  openStream(nodeId: string, workspaceId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | "absent" | "full" {
    const held = this.#held.get(nodeId);
    if (held?.node.workspaceId !== workspaceId) return "absent";
    if (held.acquire() === "full") return "full";
    const stream = this.#hub.open(nodeId, headers);
    if (stream === undefined) held.release();
    else stream.once("close", () => held.release());
    return stream ?? "absent";
  }

  /** Takes a connection whose token was found right. */
  accept(node: WorkspaceNode, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#hub.accept(node.id, address, request, socket, head);
  }

  /** What it answered cannot be: it is not asked for a while, which is longer each time. */
  reportImplausible(nodeId: string, reason: string): void {
    const held = this.openCircuit(nodeId, reason);
    if (held?.openCircuit == null) return;
    this.#events.onCircuitOpened(held.node, held.openCircuit);
    this.#elsewhere?.publishCircuitOpen(nodeId, reason);
  }

  /** What follows from it here, whoever found it out. */
  openCircuit(nodeId: string, reason: string): NodeEntry | undefined {
    const held = this.#held.get(nodeId);
    // Requests that ran beside the one that found it out say the same.
    if (held === undefined || held.openCircuit !== null) return undefined;
    const asideMs = held.recordCircuitOpening(reason, this.#rules.circuit);
    held.setRecoveryTimer(
      this.#rules.timers.after(asideMs, () => {
        held.openCircuit = null;
        this.#renew(held.node.workspaceId);
      }),
    );
    this.#renew(held.node.workspaceId);
    return held;
  }

  /** A model of a node that does not serve now; undefined when the workspace has no such node, or the node no such model. */
  unavailableModel(workspaceId: string, modelId: string): UnavailableModel | undefined {
    for (const held of this.#byWorkspace.get(workspaceId) ?? []) {
      const stem = nodeModelId(held.node, "");
      if (!modelId.startsWith(stem)) continue;
      const id = modelId.slice(stem.length);
      const announced = hasNone(held) ? { ...ANYTHING, id } : held.announcedModels?.find((one) => one.id === id);
      if (announced === undefined) continue;
      return {
        why: whyAway(held),
        reach: new WorkspaceNodeOverlay([held], this.#snapshot, () => [announced]).reachabilityOver(NOBODY_ELSE),
      };
    }
    return undefined;
  }

  send(request: UpstreamRequest, listener: UpstreamResponseHandler): UpstreamCall {
    if (this.#elsewhere === undefined) return this.#hub.send(request, listener);
    const held = this.#held.get(new URL(request.url).hostname);
    const there = held?.live?.instance == null ? undefined : this.#elsewhere.find(held.node.id);
    if (held === undefined || there === undefined) return this.#hub.send(request, listener);
    const { id: nodeId, workspaceId } = held.node;
    return this.#elsewhere.send({ nodeId, workspaceId, at: there.at }, request, listener);
  }

  close(): void {
    cancelTimer(this.#watching);
    for (const held of this.#held.values()) held.cancelRecovery();
    this.#hub.close();
    this.#elsewhere?.abort();
  }

  #announced(live: ConnectedNode): void {
    const held = this.#held.get(live.nodeId);
    if (held === undefined) return;
    held.setLocalConnection(live);
    this.#elsewhere?.publish(live, this.#leaving);
    this.#renew(held.node.workspaceId);
    this.#events.onSeen([live.nodeId], this.#rules.clock.nowMs());
    this.#watching ??= this.#watch();
  }

  #watch(): Timer {
    return this.#rules.timers.after(this.#rules.seenEveryMs, () => {
      const there = this.#hub.connectedIds;
      this.#watching = there.length === 0 ? undefined : this.#watch();
      if (there.length > 0) this.#events.onSeen(there, this.#rules.clock.nowMs());
    });
  }

  #lost(nodeId: string): void {
    this.#elsewhere?.withdraw(nodeId);
    const held = this.#held.get(nodeId);
    if (held?.live === undefined) return;
    // Who would ask it now is told that the gateway stops, not that the node went: it stays in its place.
    if (!this.#hub.closed) {
      held.clearLocalConnection();
      this.#renew(held.node.workspaceId);
    }
    this.#events.onSeen([nodeId], this.#rules.clock.nowMs());
  }

  #renew(workspaceId: string): void {
    const serving = [...(this.#byWorkspace.get(workspaceId) ?? [])].filter(
      ({ servedModels }) => servedModels.length > 0,
    );
    if (serving.length === 0) this.#layers.delete(workspaceId);
    else this.#layers.set(workspaceId, new WorkspaceNodeOverlay(serving, this.#snapshot));
  }
}

/** It is away, or the server beside it is: which models there will be is not known. */
function hasNone({ announcedModels }: NodeEntry): boolean {
  return announcedModels === undefined || announcedModels.length === 0;
}

function whyAway({ node, live, openCircuit, announcedModels }: NodeEntry): string {
  if (live === undefined)
    return `The node ${node.name} is not connected. Start its agent with \`gateway node connect\`, or try again shortly.`;
  if (announcedModels?.length === 0)
    return `The node ${node.name} is connected, and its server has no model now: it does not run, or is starting. Look after it, or try again shortly.`;
  if (openCircuit === null) return `The node ${node.name} is just coming back. Try again shortly.`;
  return `The node ${node.name} is set aside until ${new Date(openCircuit.untilMs).toISOString()}: ${openCircuit.reason}. Look after its server, or try again then.`;
}

/** Nothing else of a node can change; when it was seen is known better here. */
function isSame(one: WorkspaceNode | undefined, other: WorkspaceNode): boolean {
  const said = ({ name, country, digest, createdBy, mapping }: WorkspaceNode) =>
    JSON.stringify([name, country, digest, createdBy, mapping]);
  return one !== undefined && said(one) === said(other);
}

/** Addresses of nodes go through their tunnels, all others out of here. */
export function withTunnels(http: Transport, nodes: Pick<NodeRegistry, "send" | "close">): Transport {
  return {
    send: (request, listener) => (request.url.startsWith(TUNNEL_SCHEME) ? nodes : http).send(request, listener),
    release: (owner) => http.release(owner),
    async close() {
      nodes.close();
      await http.close();
    },
  };
}

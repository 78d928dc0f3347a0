import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import type { Connections, Credential, Snapshot } from "../../domain/catalogue/catalogue.ts";
import { isNodeProvider, nodeRows, ownModelId, providerOf } from "../../domain/catalogue/node-rows.ts";
import { type Overlaid, overlaid } from "../../domain/catalogue/overlay.ts";
import type { Proven } from "../../domain/catalogue/proofs.ts";
import type { BreakerRules } from "../../domain/routing/breakers.ts";
import { NodeReach, type Reaching } from "../../domain/routing/node-reach.ts";
import { Reach } from "../../domain/routing/reach.ts";
import type { WorkspaceNode } from "../../domain/tenancy/node.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Transport, UpstreamCall, UpstreamListener, UpstreamRequest } from "../upstream/transport.ts";
import { type Aside, type AsideRules, HeldNode } from "./held-node.ts";
import { Hub, type HubRules, type LiveNode, TUNNEL_SCHEME } from "./hub.ts";

type NodeRules = Omit<HubRules, "clock"> & {
  readonly clock: Clock;
  readonly breakers: BreakerRules;
  readonly aside: AsideRules;
};

/** Told of what becomes of nodes by itself: it happens beside the requests, so nobody waits for what is done then. */
export type NodeEvents = {
  /** It came, changed what it serves, or went. */
  seen(node: WorkspaceNode, atMs: number): void;
  setAside(node: WorkspaceNode, aside: Aside): void;
};

/** How a node is now. */
type NodeState = Readonly<Pick<HeldNode, "live" | "running" | "aside" | "lastError" | "lastSeenAtMs">> & {
  /** Of the last round trip through the tunnel. */
  readonly latencyMs: number | null;
};

/**
 * What the nodes of one workspace add to what it can call. Replaced as a whole when one of them comes, goes or changes;
 * a workspace without a connected node has none, and pays nothing for those that have.
 */
export type NodeLayer = {
  /** The catalogue, with their rows. */
  readonly snapshot: Snapshot;
  /** Of nodes alone. */
  readonly connections: Connections;
  reachOver(base: Reaching): Reaching;
  /** The node behind an endpoint; undefined when it is nobody's here. */
  held(endpointId: string): HeldNode | undefined;
};

const NO_CREDENTIAL: Credential = { kind: "none" };
/** Surfaces that have to be proven are none that nodes serve. */
const NOTHING_PROVEN: Proven = { version: () => 0, isProven: () => false };

const OFFLINE: NodeState = {
  live: undefined,
  running: 0,
  aside: null,
  lastError: null,
  lastSeenAtMs: null,
  latencyMs: null,
};

/** The book of all nodes: who they are, which are there, and what their workspaces can call because of them. */
export class Nodes {
  readonly #rules: NodeRules;
  readonly #snapshot: () => Snapshot;
  readonly #events: NodeEvents;
  readonly #hub: Hub;
  readonly #held = new Map<string, HeldNode>();
  readonly #byDigest = new Map<string, HeldNode>();
  readonly #byWorkspace = new Map<string, Set<HeldNode>>();
  readonly #layers = new Map<string, Layer>();
  #changes = 0;

  constructor(rules: NodeRules, snapshot: () => Snapshot, events: NodeEvents) {
    this.#rules = rules;
    this.#snapshot = snapshot;
    this.#events = events;
    this.#hub = new Hub(rules, {
      announced: (live) => this.#announced(live),
      lost: (nodeId) => this.#lost(nodeId),
    });
  }

  /** Undefined for a workspace without a node that serves now, which is nearly every one. */
  layerOf(workspaceId: string): NodeLayer | undefined {
    return this.#layers.size === 0 ? undefined : this.#layers.get(workspaceId);
  }

  /** A node as the request path needs it; undefined once it was removed. */
  held(nodeId: string): HeldNode | undefined {
    return this.#held.get(nodeId);
  }

  /** Nodes of a workspace, connected or not. */
  of(workspaceId: string): readonly WorkspaceNode[] {
    return [...(this.#byWorkspace.get(workspaceId) ?? [])].map(({ node }) => node);
  }

  find(nodeId: string): WorkspaceNode | undefined {
    return this.#held.get(nodeId)?.node;
  }

  get counts(): { readonly total: number; readonly connected: number; readonly aside: number } {
    const all = [...this.#held.values()];
    const aside = all.filter((held) => held.aside !== null).length;
    return { total: all.length, connected: this.#hub.size, aside };
  }

  byDigest(digest: string): WorkspaceNode | undefined {
    return this.#byDigest.get(digest)?.node;
  }

  state(nodeId: string): NodeState {
    const held = this.#held.get(nodeId);
    if (held === undefined) return OFFLINE;
    const { live, running, aside, lastError, lastSeenAtMs } = held;
    return { live, running, aside, lastError, lastSeenAtMs, latencyMs: this.#hub.load(nodeId).latencyMs };
  }

  /** A new node, or other words about one. With another token whoever came with the old one is cut off at once. */
  put(node: WorkspaceNode): void {
    this.#changes += 1;
    this.#put(node);
  }

  /** How often something was changed here: what was read from the store before the last time may be out of date. */
  get changes(): number {
    return this.#changes;
  }

  /** All nodes of a workspace, or (null) of all workspaces, as the store has them. Those that are the same are left alone. */
  replace(workspaceId: string | null, kept: readonly WorkspaceNode[]): void {
    const stays = new Set(kept.map(({ id }) => id));
    const there = workspaceId === null ? this.#held.values() : (this.#byWorkspace.get(workspaceId) ?? []);
    for (const { node } of [...there]) if (!stays.has(node.id)) this.#drop(node.id);
    for (const node of kept) if (!isSame(this.#held.get(node.id)?.node, node)) this.#put(node);
  }

  #put(node: WorkspaceNode): void {
    const before = this.#held.get(node.id);
    if (before !== undefined) {
      this.#byDigest.delete(before.node.digest);
      if (before.node.digest !== node.digest) this.#hub.drop(node.id);
      before.node = node;
    }
    const held = before ?? new HeldNode(node, this.#rules.clock, this.#rules.breakers);
    this.#held.set(node.id, held);
    this.#byDigest.set(node.digest, held);
    const beside = this.#byWorkspace.get(node.workspaceId) ?? new Set();
    this.#byWorkspace.set(node.workspaceId, beside.add(held));
    if (held.live !== undefined) this.#renew(node.workspaceId);
  }

  drop(nodeId: string): void {
    this.#changes += 1;
    this.#drop(nodeId);
  }

  #drop(nodeId: string): void {
    const held = this.#held.get(nodeId);
    if (held === undefined) return;
    const { workspaceId, digest } = held.node;
    held.forget();
    this.#held.delete(nodeId);
    this.#byDigest.delete(digest);
    this.#byWorkspace.get(workspaceId)?.delete(held);
    if (this.#byWorkspace.get(workspaceId)?.size === 0) this.#byWorkspace.delete(workspaceId);
    this.#hub.drop(nodeId);
    this.#renew(workspaceId);
  }

  /** Takes a connection whose token was found right. */
  accept(node: WorkspaceNode, address: string, request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#hub.accept(node.id, address, request, socket, head);
  }

  /** What it answered cannot be: it is not asked for a while, which is longer each time. */
  lied(nodeId: string, reason: string): void {
    const held = this.#held.get(nodeId);
    // Requests that ran beside the one that found it out say the same.
    if (held === undefined || held.aside !== null) return;
    const asideMs = held.setAside(reason, this.#rules.aside);
    held.waits(
      this.#rules.timers.after(asideMs, () => {
        held.aside = null;
        this.#renew(held.node.workspaceId);
      }),
    );
    this.#renew(held.node.workspaceId);
    if (held.aside !== null) this.#events.setAside(held.node, held.aside);
  }

  /** Why a model of a node that is known is not there; undefined when the workspace has no such node. */
  whyAbsent(workspaceId: string, modelId: string): string | undefined {
    for (const { node, live, aside } of this.#byWorkspace.get(workspaceId) ?? []) {
      if (!modelId.startsWith(ownModelId(node, ""))) continue;
      if (live === undefined)
        return `The node ${node.name} is not connected. Start its agent with \`gateway node connect\`, or try again shortly.`;
      if (aside !== null)
        return `The node ${node.name} is set aside until ${new Date(aside.untilMs).toISOString()}: ${aside.reason}. Look after its server, or try again then.`;
    }
    return undefined;
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    return this.#hub.send(request, listener);
  }

  close(): void {
    for (const held of this.#held.values()) held.forget();
    this.#hub.close();
  }

  #announced(live: LiveNode): void {
    const held = this.#held.get(live.nodeId);
    if (held === undefined) return;
    held.connected(live);
    this.#renew(held.node.workspaceId);
    this.#events.seen(held.node, this.#rules.clock.nowMs());
  }

  #lost(nodeId: string): void {
    const held = this.#held.get(nodeId);
    if (held?.live === undefined) return;
    held.lost();
    this.#renew(held.node.workspaceId);
    this.#events.seen(held.node, this.#rules.clock.nowMs());
  }

  #renew(workspaceId: string): void {
    const serving = [...(this.#byWorkspace.get(workspaceId) ?? [])].filter(({ served }) => served.length > 0);
    if (serving.length === 0) this.#layers.delete(workspaceId);
    else this.#layers.set(workspaceId, new Layer(serving, this.#snapshot));
  }
}

/** Nothing else of a node can change; when it was seen is known better here. */
function isSame(one: WorkspaceNode | undefined, other: WorkspaceNode): boolean {
  const said = ({ name, country, digest, mapping }: WorkspaceNode) => JSON.stringify([name, country, digest, mapping]);
  return one !== undefined && said(one) === said(other);
}

class Layer implements NodeLayer {
  readonly connections: Connections;
  readonly #base: () => Snapshot;
  readonly #serving: readonly HeldNode[];
  readonly #byProvider: ReadonlyMap<string, HeldNode>;
  readonly #reach: Reach;
  #seen: { readonly base: Snapshot; readonly overlaid: Overlaid } | undefined;
  #joined: { readonly base: Reaching; readonly reach: Reaching } | undefined;

  constructor(serving: readonly HeldNode[], base: () => Snapshot) {
    this.#base = base;
    this.#serving = serving;
    this.#byProvider = new Map(serving.map((held) => [providerOf(held.node), held]));
    this.connections = {
      credential: (provider) => (this.#byProvider.has(provider) ? NO_CREDENTIAL : undefined),
      baseUrl: ({ provider, baseUrl }) => (this.#byProvider.has(provider) ? (baseUrl ?? undefined) : undefined),
      anyReal: true,
    };
    this.#reach = new Reach(
      () => this.#rows.alone,
      this.connections,
      () => true,
      NOTHING_PROVEN,
    );
  }

  get snapshot(): Snapshot {
    return this.#rows.together;
  }

  reachOver(base: Reaching): Reaching {
    if (this.#joined?.base === base) return this.#joined.reach;
    const reach = new NodeReach(base, this.#reach, (provider) => this.#byProvider.get(provider)?.node);
    this.#joined = { base, reach };
    return reach;
  }

  held(endpointId: string): HeldNode | undefined {
    const endpoint = isNodeProvider(endpointId) ? this.#rows.alone.endpoints.get(endpointId) : undefined;
    return endpoint === undefined ? undefined : this.#byProvider.get(endpoint.provider);
  }

  /** Rates change now and then, and with them the snapshot below. */
  get #rows(): Overlaid {
    const base = this.#base();
    if (this.#seen?.base === base) return this.#seen.overlaid;
    const rows = this.#serving.map((held) => nodeRows(held.node, held.served, (id) => base.models.get(id)));
    this.#seen = { base, overlaid: overlaid(base, rows) };
    return this.#seen.overlaid;
  }
}

/** Addresses of nodes go through their tunnels, all others out of here. */
export function withTunnels(http: Transport, nodes: Pick<Nodes, "send" | "close">): Transport {
  return {
    send: (request, listener) => (request.url.startsWith(TUNNEL_SCHEME) ? nodes : http).send(request, listener),
    release: (owner) => http.release(owner),
    async close() {
      nodes.close();
      await http.close();
    },
  };
}

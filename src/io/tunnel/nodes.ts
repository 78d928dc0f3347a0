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
import type { Transport, UpstreamCall, UpstreamListener, UpstreamRequest } from "../upstream/transport.ts";
import { type Aside, type AsideRules, HeldNode } from "./held-node.ts";
import { Hub, type HubRules, type LiveNode, TUNNEL_SCHEME } from "./hub.ts";
import { Layer, type NodeLayer } from "./node-layer.ts";
import type { NodesHere } from "./peer-door.ts";
import type { Destination } from "./peer-links.ts";
import type { NodeElsewhere } from "./presence.ts";

type NodeRules = Omit<HubRules, "clock"> & {
  readonly clock: Clock;
  readonly breakers: CircuitBreakerRules;
  readonly aside: AsideRules;
  /** How often it is told which are still there: after a crash that is all that anyone knows. */
  readonly seenEveryMs: number;
};

/** Told of what becomes of nodes by itself: it happens beside the requests, so nobody waits for what is done then. */
export type NodeEvents = {
  /** They came, changed what they serve, went, or are still there. */
  seen(nodeIds: readonly string[], atMs: number): void;
  setAside(node: WorkspaceNode, aside: Aside): void;
};

/** Other instances of the same gateway: what they hold, and the way to it. */
export type Elsewhere = {
  of(nodeId: string): NodeElsewhere | undefined;
  send(to: Destination, request: UpstreamRequest, listener: UpstreamListener): UpstreamCall;
  /** What they are told. */
  here(live: LiveNode, leaving: boolean): void;
  gone(nodeId: string): void;
  aside(nodeId: string, reason: string): void;
  /** This instance stops, and what it still asks for there ends. */
  cut(): void;
};

/** How a node is now. */
type NodeState = Readonly<Pick<HeldNode, "live" | "running" | "aside" | "lastError" | "lastSeenAtMs">> & {
  /** Of the last round trip through the tunnel. */
  readonly latencyMs: number | null;
};

const OFFLINE: NodeState = {
  live: undefined,
  running: 0,
  aside: null,
  lastError: null,
  lastSeenAtMs: null,
  latencyMs: null,
};

/** A model that would be served: why it is not, and what could be called of it. */
export type AbsentModel = { readonly why: string; readonly reach: ReachabilitySource };

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
export class Nodes implements NodesHere {
  readonly #rules: NodeRules;
  readonly #snapshot: () => CatalogueSnapshot;
  readonly #events: NodeEvents;
  readonly #hub: Hub;
  readonly #held = new Map<string, HeldNode>();
  readonly #byDigest = new Map<string, HeldNode>();
  readonly #byWorkspace = new Map<string, Set<HeldNode>>();
  readonly #layers = new Map<string, Layer>();
  #changes = 0;
  #elsewhere: Elsewhere | undefined;
  #leaving = false;
  #watching: Timer | undefined;

  constructor(rules: NodeRules, snapshot: () => CatalogueSnapshot, events: NodeEvents) {
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

  get closed(): boolean {
    return this.#hub.closed;
  }

  /** `connected`: to any instance; `here`: to this one. */
  get counts(): Readonly<Record<"total" | "connected" | "here" | "aside", number>> {
    const all = [...this.#held.values()];
    const aside = all.filter((held) => held.aside !== null).length;
    const connected = all.filter((held) => held.live !== undefined).length;
    return { total: all.length, connected, here: this.#hub.size, aside };
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
    if (before === undefined) held.elsewhere(this.#elsewhere?.of(node.id)?.live);
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

  /** From now on other instances are told of nodes here, and nodes there are served through them. */
  join(elsewhere: Elsewhere): void {
    this.#elsewhere = elsewhere;
    for (const held of this.#held.values()) {
      if (held.live?.instance === null) elsewhere.here(held.live, this.#leaving);
      this.moved(held.node.id);
    }
  }

  /** Something else is known of where a node is. */
  moved(nodeId: string): void {
    const held = this.#held.get(nodeId);
    if (held === undefined || this.#hub.closed) return;
    const before = held.live;
    held.elsewhere(this.#elsewhere?.of(nodeId)?.live);
    if (held.live !== before) this.#renew(held.node.workspaceId);
  }

  /** This instance stops, and others do not: nodes go there, and finish here what runs. */
  leave(): void {
    if (this.#elsewhere === undefined) return;
    this.#leaving = true;
    for (const held of this.#held.values()) {
      const here = held.leaves();
      if (here === undefined) continue;
      this.#elsewhere.here(here, true);
      this.#renew(held.node.workspaceId);
    }
    this.#hub.askToMove();
  }

  /** What another instance has for a node that is connected here. */
  ask(nodeId: string, workspaceId: string, headers: IncomingHttpHeaders): ClientHttp2Stream | "absent" | "full" {
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
  lied(nodeId: string, reason: string): void {
    const held = this.setAside(nodeId, reason);
    if (held?.aside == null) return;
    this.#events.setAside(held.node, held.aside);
    this.#elsewhere?.aside(nodeId, reason);
  }

  /** What follows from it here, whoever found it out. */
  setAside(nodeId: string, reason: string): HeldNode | undefined {
    const held = this.#held.get(nodeId);
    // Requests that ran beside the one that found it out say the same.
    if (held === undefined || held.aside !== null) return undefined;
    const asideMs = held.setAside(reason, this.#rules.aside);
    held.waits(
      this.#rules.timers.after(asideMs, () => {
        held.aside = null;
        this.#renew(held.node.workspaceId);
      }),
    );
    this.#renew(held.node.workspaceId);
    return held;
  }

  /** A model of a node that does not serve now; undefined when the workspace has no such node, or the node no such model. */
  absent(workspaceId: string, modelId: string): AbsentModel | undefined {
    for (const held of this.#byWorkspace.get(workspaceId) ?? []) {
      const stem = nodeModelId(held.node, "");
      if (!modelId.startsWith(stem)) continue;
      const id = modelId.slice(stem.length);
      const announced = hasNone(held) ? { ...ANYTHING, id } : held.announced?.find((one) => one.id === id);
      if (announced === undefined) continue;
      return { why: whyAway(held), reach: new Layer([held], this.#snapshot, () => [announced]).reachOver(NOBODY_ELSE) };
    }
    return undefined;
  }

  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall {
    if (this.#elsewhere === undefined) return this.#hub.send(request, listener);
    const held = this.#held.get(new URL(request.url).hostname);
    const there = held?.live?.instance == null ? undefined : this.#elsewhere.of(held.node.id);
    if (held === undefined || there === undefined) return this.#hub.send(request, listener);
    const { id: nodeId, workspaceId } = held.node;
    return this.#elsewhere.send({ nodeId, workspaceId, at: there.at }, request, listener);
  }

  close(): void {
    cancelTimer(this.#watching);
    for (const held of this.#held.values()) held.forget();
    this.#hub.close();
    this.#elsewhere?.cut();
  }

  #announced(live: LiveNode): void {
    const held = this.#held.get(live.nodeId);
    if (held === undefined) return;
    held.connected(live);
    this.#elsewhere?.here(live, this.#leaving);
    this.#renew(held.node.workspaceId);
    this.#events.seen([live.nodeId], this.#rules.clock.nowMs());
    this.#watching ??= this.#watch();
  }

  #watch(): Timer {
    return this.#rules.timers.after(this.#rules.seenEveryMs, () => {
      const there = this.#hub.ids;
      this.#watching = there.length === 0 ? undefined : this.#watch();
      if (there.length > 0) this.#events.seen(there, this.#rules.clock.nowMs());
    });
  }

  #lost(nodeId: string): void {
    this.#elsewhere?.gone(nodeId);
    const held = this.#held.get(nodeId);
    if (held?.live === undefined) return;
    // Who would ask it now is told that the gateway stops, not that the node went: it stays in its place.
    if (!this.#hub.closed) {
      held.lost();
      this.#renew(held.node.workspaceId);
    }
    this.#events.seen([nodeId], this.#rules.clock.nowMs());
  }

  #renew(workspaceId: string): void {
    const serving = [...(this.#byWorkspace.get(workspaceId) ?? [])].filter(({ served }) => served.length > 0);
    if (serving.length === 0) this.#layers.delete(workspaceId);
    else this.#layers.set(workspaceId, new Layer(serving, this.#snapshot));
  }
}

/** It is away, or the server beside it is: which models there will be is not known. */
function hasNone({ announced }: HeldNode): boolean {
  return announced === undefined || announced.length === 0;
}

function whyAway({ node, live, aside, announced }: HeldNode): string {
  if (live === undefined)
    return `The node ${node.name} is not connected. Start its agent with \`gateway node connect\`, or try again shortly.`;
  if (announced?.length === 0)
    return `The node ${node.name} is connected, and its server has no model now: it does not run, or is starting. Look after it, or try again shortly.`;
  if (aside === null) return `The node ${node.name} is just coming back. Try again shortly.`;
  return `The node ${node.name} is set aside until ${new Date(aside.untilMs).toISOString()}: ${aside.reason}. Look after its server, or try again then.`;
}

/** Nothing else of a node can change; when it was seen is known better here. */
function isSame(one: WorkspaceNode | undefined, other: WorkspaceNode): boolean {
  const said = ({ name, country, digest, createdBy, mapping }: WorkspaceNode) =>
    JSON.stringify([name, country, digest, createdBy, mapping]);
  return one !== undefined && said(one) === said(other);
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

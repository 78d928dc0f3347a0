import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { PeerAddress } from "./peer-client.ts";
import { Announcement } from "./protocol.ts";
import type { ConnectedNode } from "./tunnel-hub.ts";

/** This instance, as other instances see it. */
export type LocalInstance = {
  readonly id: string;
  /** Unique for each process start: records of an earlier process never count as this one's. */
  readonly runId: string;
  readonly url: string;
  /** Ids of the peer keys that it has. */
  keys(): readonly string[];
};

export type NodeDirectoryRules = {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** Heartbeat interval, and how long an instance counts as alive without one. */
  readonly everyMs: number;
  readonly ttlMs: number;
};

/** A node that is connected to another instance. */
export type RemoteNodeConnection = {
  readonly at: PeerAddress;
  readonly connection: ConnectedNode;
  /** The instance is stopping: any other connection of the node is preferred. */
  readonly isLeaving: boolean;
};

type NodeDirectoryListeners = {
  onChanged(nodeId: string): void;
  /** Another instance got an implausible response from a node. */
  onCircuitOpened(nodeId: string, reason: string): void;
  onError(error: unknown): void;
};

const InstanceRecord = z.object({
  id: z.string(),
  url: z.string(),
  keys: z.array(z.string()),
  /** `rev` counts changes of its nodes, `beat` its heartbeats. */
  rev: z.int(),
  beat: z.int(),
});
type InstanceRecord = z.infer<typeof InstanceRecord> & {
  readonly isMissing: boolean;
  /** A connection failed since the last heartbeat. */
  readonly isUnreachable: boolean;
};

const NodeRecord = z.object({
  leaving: z.boolean(),
  connectedAtMs: z.number(),
  address: z.string(),
  announcement: Announcement,
});
type NodeRecord = z.infer<typeof NodeRecord>;

const DirectoryMessage = z.discriminatedUnion("is", [
  z.object({ is: z.enum(["here", "gone"]), from: z.string(), rev: z.int(), node: z.string() }),
  z.object({ is: z.literal("bye"), from: z.string() }),
  z.object({ is: z.literal("aside"), from: z.string(), node: z.string(), reason: z.string() }),
]);
type DirectoryMessage = z.infer<typeof DirectoryMessage>;

const TOPIC = "nodes";
const INSTANCE_PREFIX = "holder:";
const NODE_PREFIX = "node:";
/** A node record only counts while its instance is alive, so it may expire much later. */
const NODE_TTL_FACTOR = 60;

/**
 * Which instance holds the connection of which node, in the coordination store. Each instance renews one small heartbeat
 * record every few seconds; the records of its nodes are read again only when its revision has changed. The stored JSON and
 * the messages are shared with instances of other versions.
 */
export class NodeDirectory {
  readonly #store: CoordinationStore;
  readonly #self: LocalInstance;
  readonly #rules: NodeDirectoryRules;
  readonly #listeners: NodeDirectoryListeners;
  /** `publishedAtMs` is undefined until the record is stored. */
  readonly #localNodes = new Map<string, { readonly record: NodeRecord; publishedAtMs: number | undefined }>();
  /** By runId id. */
  readonly #instances = new Map<string, InstanceRecord>();
  /** By node id, then by runId id. */
  readonly #remoteNodes = new Map<string, Map<string, NodeRecord>>();
  #revision = 0;
  #heartbeats = 0;
  #queue: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #unsubscribe: (() => void) | undefined;
  #stopped = false;

  constructor(
    store: CoordinationStore,
    self: LocalInstance,
    rules: NodeDirectoryRules,
    listeners: NodeDirectoryListeners,
  ) {
    this.#store = store;
    this.#self = self;
    this.#rules = rules;
    this.#listeners = listeners;
  }

  /** Resolves when the records of all instances are loaded. */
  async start(): Promise<void> {
    this.#unsubscribe = this.#store.subscribe(TOPIC, (text) => this.#onMessage(text));
    await this.#heartbeat();
  }

  /** The best connection of a node to another instance. */
  find(nodeId: string): RemoteNodeConnection | undefined {
    const found = [...(this.#remoteNodes.get(nodeId) ?? [])].flatMap(([runId, record]): RemoteNodeConnection[] => {
      const instance = this.#instances.get(runId);
      if (instance === undefined || instance.isUnreachable) return [];
      const { leaving: isLeaving, connectedAtMs, address, announcement } = record;
      const connection = { nodeId, connectedAtMs, address, announcement, instance: instance.id };
      return [{ at: instance, isLeaving, connection }];
    });
    return found.find(({ isLeaving }) => !isLeaving) ?? found[0];
  }

  /** A node connected here, changed its models, or is leaving. */
  publish({ nodeId, connectedAtMs, address, announcement }: ConnectedNode, leaving: boolean): void {
    const record = { leaving, connectedAtMs, address, announcement };
    const local = { record, publishedAtMs: undefined };
    this.#localNodes.set(nodeId, local);
    this.#revision += 1;
    const rev = this.#revision;
    this.#enqueue(async () => {
      await this.#publishNode(nodeId, local);
      await this.#broadcast({ is: "here", from: this.#self.runId, rev, node: nodeId });
    });
  }

  withdraw(nodeId: string): void {
    if (!this.#localNodes.delete(nodeId)) return;
    this.#revision += 1;
    const rev = this.#revision;
    this.#enqueue(async () => {
      // The node may have reconnected meanwhile.
      if (!this.#localNodes.has(nodeId)) await this.#store.delete(this.#nodeKey(nodeId));
      await this.#broadcast({ is: "gone", from: this.#self.runId, rev, node: nodeId });
    });
  }

  publishCircuitOpen(nodeId: string, reason: string): void {
    this.#enqueue(() => this.#broadcast({ is: "aside", from: this.#self.runId, node: nodeId, reason }));
  }

  /** The instance at this address is ignored until its next heartbeat. */
  markUnreachable(url: string): void {
    for (const [runId, instance] of this.#instances) {
      if (instance.url !== url || instance.isUnreachable) continue;
      this.#instances.set(runId, { ...instance, isUnreachable: true });
      this.#notifyNodesOf(runId);
    }
  }

  /** Removes this instance and its nodes, so that other instances stop sending requests here. */
  async stop(): Promise<void> {
    this.#stopped = true;
    cancelTimer(this.#timer);
    this.#unsubscribe?.();
    this.#enqueue(async () => {
      for (const nodeId of this.#localNodes.keys()) await this.#store.delete(this.#nodeKey(nodeId));
      await this.#store.delete(`${INSTANCE_PREFIX}${this.#self.runId}`);
      await this.#broadcast({ is: "bye", from: this.#self.runId });
    });
    await this.#queue;
  }

  /** Serializes all work: an older read must not overwrite a newer one. */
  #enqueue(work: () => Promise<void>): void {
    this.#queue = this.#queue.then(work).catch((error: unknown) => this.#listeners.onError(error));
  }

  async #heartbeat(): Promise<void> {
    this.#enqueue(() => this.#publishInstance());
    this.#enqueue(() => this.#refresh());
    await this.#queue;
    if (!this.#stopped) this.#timer = this.#rules.timers.after(this.#rules.everyMs, () => void this.#heartbeat());
  }

  async #publishInstance(): Promise<void> {
    const { id, runId, url } = this.#self;
    const { clock, ttlMs } = this.#rules;
    const name = `${INSTANCE_PREFIX}${runId}`;
    this.#heartbeats += 1;
    // A missing own record means that the store lost its data.
    const isStoreEmpty = (await this.#store.get(name)) === undefined;
    const dueMs = clock.monotonicMs() - (NODE_TTL_FACTOR / 2) * ttlMs;
    let hasChanges = false;
    for (const [nodeId, local] of this.#localNodes) {
      const isUnpublished = isStoreEmpty || local.publishedAtMs === undefined;
      if (!isUnpublished && (local.publishedAtMs ?? 0) > dueMs) continue;
      await this.#publishNode(nodeId, local);
      if (isUnpublished) hasChanges = true;
    }
    if (hasChanges) this.#revision += 1;
    await this.#store.put(
      name,
      JSON.stringify({ id, url, keys: this.#self.keys(), rev: this.#revision, beat: this.#heartbeats }),
      ttlMs,
    );
  }

  /** Catches up with isMissing messages, and loads everything at start. */
  async #refresh(): Promise<void> {
    const found = await this.#store.list(INSTANCE_PREFIX);
    let isStale = false;
    for (const [runId, text] of found) {
      const instance = runId === this.#self.runId ? undefined : InstanceRecord.safeParse(tryParseJson(text)).data;
      if (instance === undefined) continue;
      const known = this.#instances.get(runId);
      const knownRevision = known?.rev ?? -1;
      if (knownRevision < instance.rev) isStale = true;
      const isUnreachable = known?.isUnreachable === true && known.beat === instance.beat;
      this.#instances.set(runId, {
        ...instance,
        rev: Math.max(instance.rev, knownRevision),
        isMissing: false,
        isUnreachable,
      });
      if (known?.isUnreachable === true && !isUnreachable) this.#notifyNodesOf(runId);
    }
    for (const [runId, instance] of [...this.#instances]) {
      if (found.has(runId)) continue;
      // After a loss of data instances publish again within moments, so a record must be missing twice.
      if (instance.isMissing) this.#removeInstance(runId);
      else this.#instances.set(runId, { ...instance, isMissing: true });
    }
    if (isStale) await this.#reloadNodes();
  }

  async #reloadNodes(): Promise<void> {
    const entries = await this.#store.list(NODE_PREFIX);
    const before = [...this.#remoteNodes.keys()];
    this.#remoteNodes.clear();
    for (const [name, text] of entries) {
      const [nodeId = "", runId = ""] = name.split("/");
      const record = runId === this.#self.runId ? undefined : NodeRecord.safeParse(tryParseJson(text)).data;
      if (record !== undefined) this.#setNode(nodeId, runId, record);
    }
    for (const nodeId of new Set([...before, ...this.#remoteNodes.keys()])) this.#listeners.onChanged(nodeId);
  }

  #onMessage(text: string): void {
    const message = DirectoryMessage.safeParse(tryParseJson(text)).data;
    if (message === undefined || message.from === this.#self.runId) return;
    this.#enqueue(() => this.#applyMessage(message));
  }

  async #applyMessage(message: DirectoryMessage): Promise<void> {
    if (message.is === "bye") return this.#removeInstance(message.from);
    if (message.is === "aside") return this.#listeners.onCircuitOpened(message.node, message.reason);
    const { from, node, rev } = message;
    const known = this.#instances.get(from);
    // An unknown instance or a isMissing message: reload everything.
    if (known?.rev !== rev - 1) {
      await this.#loadInstance(from, rev);
      await this.#reloadNodes();
      return;
    }
    this.#instances.set(from, { ...known, rev });
    const record = NodeRecord.safeParse(
      tryParseJson((await this.#store.get(`${NODE_PREFIX}${node}/${from}`)) ?? ""),
    ).data;
    if (record !== undefined) this.#setNode(node, from, record);
    else this.#deleteNode(node, from);
    this.#listeners.onChanged(node);
  }

  async #loadInstance(runId: string, rev: number): Promise<void> {
    const instance = InstanceRecord.safeParse(
      tryParseJson((await this.#store.get(`${INSTANCE_PREFIX}${runId}`)) ?? ""),
    ).data;
    if (instance !== undefined)
      this.#instances.set(runId, {
        ...instance,
        rev: Math.max(instance.rev, rev),
        isMissing: false,
        isUnreachable: false,
      });
  }

  #removeInstance(runId: string): void {
    this.#instances.delete(runId);
    for (const [nodeId, record] of [...this.#remoteNodes]) {
      if (!record.has(runId)) continue;
      this.#deleteNode(nodeId, runId);
      this.#listeners.onChanged(nodeId);
    }
  }

  #notifyNodesOf(runId: string): void {
    for (const [nodeId, record] of this.#remoteNodes) if (record.has(runId)) this.#listeners.onChanged(nodeId);
  }

  #setNode(nodeId: string, runId: string, record: NodeRecord): void {
    const known = this.#remoteNodes.get(nodeId) ?? new Map<string, NodeRecord>();
    this.#remoteNodes.set(nodeId, known.set(runId, record));
  }

  #deleteNode(nodeId: string, runId: string): void {
    const known = this.#remoteNodes.get(nodeId);
    known?.delete(runId);
    if (known?.size === 0) this.#remoteNodes.delete(nodeId);
  }

  #nodeKey(nodeId: string): string {
    return `${NODE_PREFIX}${nodeId}/${this.#self.runId}`;
  }

  async #publishNode(
    nodeId: string,
    local: { readonly record: NodeRecord; publishedAtMs: number | undefined },
  ): Promise<void> {
    await this.#store.put(this.#nodeKey(nodeId), JSON.stringify(local.record), NODE_TTL_FACTOR * this.#rules.ttlMs);
    local.publishedAtMs = this.#rules.clock.monotonicMs();
  }

  #broadcast(message: DirectoryMessage): Promise<void> {
    return this.#store.publish(TOPIC, JSON.stringify(message));
  }
}

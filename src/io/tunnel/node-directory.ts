import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Clock } from "../../kit/clock.ts";
import { tryParseJson } from "../../kit/json.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import type { PeerAddress } from "./peer-client.ts";
import { Announcement } from "./protocol.ts";
import type { ConnectedNode } from "./tunnel-hub.ts";

/** This instance, as the others hear of it. */
export type LocalInstance = {
  readonly id: string;
  /** Another one at each start, and what it is known by on the board: what an earlier process left there is nobody's. */
  readonly runId: string;
  readonly url: string;
  /** Keys that it knows, by their names. */
  keys(): readonly string[];
};

export type NodeDirectoryRules = {
  readonly timers: Timers;
  readonly clock: Pick<Clock, "monotonicMs">;
  /** How often it says that it is there, and how long it is believed without saying so again. */
  readonly everyMs: number;
  readonly ttlMs: number;
};

/** A node that another instance holds the connection of. */
export type RemoteNodeConnection = {
  readonly at: PeerAddress;
  readonly connection: ConnectedNode;
  /** The instance stops: another connection of the node is better than this one. */
  readonly isLeaving: boolean;
};

type NodeDirectoryListeners = {
  /** Something else is known of where a node is. */
  onChanged(nodeId: string): void;
  /** Another instance found that a node answered what cannot be. */
  onCircuitOpened(nodeId: string, reason: string): void;
  onError(error: unknown): void;
};

const Holder = z.object({
  id: z.string(),
  url: z.string(),
  keys: z.array(z.string()),
  /** How often something of its nodes has changed, and how often it said that it is there. */
  rev: z.int(),
  beat: z.int(),
});
type Holder = z.infer<typeof Holder> & {
  readonly missed: boolean;
  /** Nobody answered there since it said so last. */
  readonly doubted: boolean;
};

const Held = z.object({
  leaving: z.boolean(),
  connectedAtMs: z.number(),
  address: z.string(),
  announcement: Announcement,
});
type Held = z.infer<typeof Held>;

const Message = z.discriminatedUnion("is", [
  z.object({ is: z.enum(["here", "gone"]), from: z.string(), rev: z.int(), node: z.string() }),
  z.object({ is: z.literal("bye"), from: z.string() }),
  z.object({ is: z.literal("aside"), from: z.string(), node: z.string(), reason: z.string() }),
]);
type Message = z.infer<typeof Message>;

const TOPIC = "nodes";
const HOLDERS = "holder:";
const NODES = "node:";
/** Entries of nodes count while their holder is there, so they may stay far longer than it is believed. */
const ENTRY_TTL_TIMES = 60;

/**
 * Which instance holds the connection of which node, on the board. Each instance says every few seconds that it is there,
 * in one small entry; what its nodes serve stands beside it and is read again only when it has changed.
 */
export class NodeDirectory {
  readonly #board: CoordinationStore;
  readonly #me: LocalInstance;
  readonly #rules: NodeDirectoryRules;
  readonly #listeners: NodeDirectoryListeners;
  /** Connected here; `putAtMs` is undefined until the board has it. */
  readonly #mine = new Map<string, { readonly held: Held; putAtMs: number | undefined }>();
  /** By run. */
  readonly #holders = new Map<string, Holder>();
  /** By node, then by run. */
  readonly #elsewhere = new Map<string, Map<string, Held>>();
  #rev = 0;
  #beats = 0;
  #turn: Promise<void> = Promise.resolve();
  #timer: Timer | undefined;
  #deaf: (() => void) | undefined;
  #stopped = false;

  constructor(
    board: CoordinationStore,
    me: LocalInstance,
    rules: NodeDirectoryRules,
    listeners: NodeDirectoryListeners,
  ) {
    this.#board = board;
    this.#me = me;
    this.#rules = rules;
    this.#listeners = listeners;
  }

  /** Resolves when it knows what there is. */
  async start(): Promise<void> {
    this.#deaf = this.#board.subscribe(TOPIC, (text) => this.#hear(text));
    await this.#beat();
  }

  /** The best of the connections that others hold; undefined where nobody does. */
  find(nodeId: string): RemoteNodeConnection | undefined {
    const found = [...(this.#elsewhere.get(nodeId) ?? [])].flatMap(([run, held]): RemoteNodeConnection[] => {
      const holder = this.#holders.get(run);
      if (holder === undefined || holder.doubted) return [];
      const { leaving: isLeaving, connectedAtMs, address, announcement } = held;
      const connection = { nodeId, connectedAtMs, address, announcement, instance: holder.id };
      return [{ at: holder, isLeaving, connection }];
    });
    return found.find(({ isLeaving }) => !isLeaving) ?? found[0];
  }

  /** A node is connected here, or serves something else, or is told to go. */
  publish({ nodeId, connectedAtMs, address, announcement }: ConnectedNode, leaving: boolean): void {
    const held = { leaving, connectedAtMs, address, announcement };
    const mine = { held, putAtMs: undefined };
    this.#mine.set(nodeId, mine);
    this.#rev += 1;
    const rev = this.#rev;
    this.#inTurn(async () => {
      await this.#put(nodeId, mine);
      await this.#tell({ is: "here", from: this.#me.runId, rev, node: nodeId });
    });
  }

  withdraw(nodeId: string): void {
    if (!this.#mine.delete(nodeId)) return;
    this.#rev += 1;
    const rev = this.#rev;
    this.#inTurn(async () => {
      // It may be back by now.
      if (!this.#mine.has(nodeId)) await this.#board.delete(this.#entry(nodeId));
      await this.#tell({ is: "gone", from: this.#me.runId, rev, node: nodeId });
    });
  }

  publishCircuitOpen(nodeId: string, reason: string): void {
    this.#inTurn(() => this.#tell({ is: "aside", from: this.#me.runId, node: nodeId, reason }));
  }

  /** Nobody answers at an address: who should be there is gone, until it says otherwise. */
  markUnreachable(url: string): void {
    for (const [run, holder] of this.#holders) {
      if (holder.url !== url || holder.doubted) continue;
      this.#holders.set(run, { ...holder, doubted: true });
      this.#tellOfAll(run);
    }
  }

  /** Whoever asks for a node here from now on goes elsewhere. */
  async stop(): Promise<void> {
    this.#stopped = true;
    cancelTimer(this.#timer);
    this.#deaf?.();
    this.#inTurn(async () => {
      for (const nodeId of this.#mine.keys()) await this.#board.delete(this.#entry(nodeId));
      await this.#board.delete(`${HOLDERS}${this.#me.runId}`);
      await this.#tell({ is: "bye", from: this.#me.runId });
    });
    await this.#turn;
  }

  /** One after the other: what was read later must not be undone by what was asked for earlier. */
  #inTurn(work: () => Promise<void>): void {
    this.#turn = this.#turn.then(work).catch((error: unknown) => this.#listeners.onError(error));
  }

  async #beat(): Promise<void> {
    this.#inTurn(() => this.#renew());
    this.#inTurn(() => this.#look());
    await this.#turn;
    if (!this.#stopped) this.#timer = this.#rules.timers.after(this.#rules.everyMs, () => void this.#beat());
  }

  async #renew(): Promise<void> {
    const { id, runId, url } = this.#me;
    const { clock, ttlMs } = this.#rules;
    const name = `${HOLDERS}${runId}`;
    this.#beats += 1;
    // Not there although it was put: the board has lost what it had.
    const isLost = (await this.#board.get(name)) === undefined;
    const dueMs = clock.monotonicMs() - (ENTRY_TTL_TIMES / 2) * ttlMs;
    let isNews = false;
    for (const [nodeId, one] of this.#mine) {
      const isMissing = isLost || one.putAtMs === undefined;
      if (!isMissing && (one.putAtMs ?? 0) > dueMs) continue;
      await this.#put(nodeId, one);
      if (isMissing) isNews = true;
    }
    if (isNews) this.#rev += 1;
    await this.#board.put(
      name,
      JSON.stringify({ id, url, keys: this.#me.keys(), rev: this.#rev, beat: this.#beats }),
      ttlMs,
    );
  }

  /** The safety net below the messages, and all there is at a start. */
  async #look(): Promise<void> {
    const found = await this.#board.list(HOLDERS);
    let isBehind = false;
    for (const [run, text] of found) {
      const holder = run === this.#me.runId ? undefined : Holder.safeParse(tryParseJson(text)).data;
      if (holder === undefined) continue;
      const known = this.#holders.get(run);
      const heardRev = known?.rev ?? -1;
      if (heardRev < holder.rev) isBehind = true;
      const doubted = known?.doubted === true && known.beat === holder.beat;
      this.#holders.set(run, { ...holder, rev: Math.max(holder.rev, heardRev), missed: false, doubted });
      if (known?.doubted === true && !doubted) this.#tellOfAll(run);
    }
    for (const [run, holder] of [...this.#holders]) {
      if (found.has(run)) continue;
      // A board that lost what it had has it again a moment later.
      if (holder.missed) this.#lose(run);
      else this.#holders.set(run, { ...holder, missed: true });
    }
    if (isBehind) await this.#readAll();
  }

  async #readAll(): Promise<void> {
    const entries = await this.#board.list(NODES);
    const before = [...this.#elsewhere.keys()];
    this.#elsewhere.clear();
    for (const [name, text] of entries) {
      const [nodeId = "", run = ""] = name.split("/");
      const held = run === this.#me.runId ? undefined : Held.safeParse(tryParseJson(text)).data;
      if (held !== undefined) this.#keep(nodeId, run, held);
    }
    for (const nodeId of new Set([...before, ...this.#elsewhere.keys()])) this.#listeners.onChanged(nodeId);
  }

  #hear(text: string): void {
    const message = Message.safeParse(tryParseJson(text)).data;
    if (message === undefined || message.from === this.#me.runId) return;
    this.#inTurn(() => this.#heard(message));
  }

  async #heard(message: Message): Promise<void> {
    if (message.is === "bye") return this.#lose(message.from);
    if (message.is === "aside") return this.#listeners.onCircuitOpened(message.node, message.reason);
    const { from, node, rev } = message;
    const known = this.#holders.get(from);
    // Somebody new, or a message before this one was missed: look at everything.
    if (known?.rev !== rev - 1) {
      await this.#meet(from, rev);
      await this.#readAll();
      return;
    }
    this.#holders.set(from, { ...known, rev });
    const held = Held.safeParse(tryParseJson((await this.#board.get(`${NODES}${node}/${from}`)) ?? "")).data;
    if (held !== undefined) this.#keep(node, from, held);
    else this.#forget(node, from);
    this.#listeners.onChanged(node);
  }

  async #meet(run: string, rev: number): Promise<void> {
    const holder = Holder.safeParse(tryParseJson((await this.#board.get(`${HOLDERS}${run}`)) ?? "")).data;
    if (holder !== undefined)
      this.#holders.set(run, { ...holder, rev: Math.max(holder.rev, rev), missed: false, doubted: false });
  }

  #lose(run: string): void {
    this.#holders.delete(run);
    for (const [nodeId, held] of [...this.#elsewhere]) {
      if (!held.has(run)) continue;
      this.#forget(nodeId, run);
      this.#listeners.onChanged(nodeId);
    }
  }

  /** Of all nodes of an instance something else is known. */
  #tellOfAll(run: string): void {
    for (const [nodeId, held] of this.#elsewhere) if (held.has(run)) this.#listeners.onChanged(nodeId);
  }

  #keep(nodeId: string, run: string, held: Held): void {
    const known = this.#elsewhere.get(nodeId) ?? new Map<string, Held>();
    this.#elsewhere.set(nodeId, known.set(run, held));
  }

  #forget(nodeId: string, run: string): void {
    const known = this.#elsewhere.get(nodeId);
    known?.delete(run);
    if (known?.size === 0) this.#elsewhere.delete(nodeId);
  }

  #entry(nodeId: string): string {
    return `${NODES}${nodeId}/${this.#me.runId}`;
  }

  async #put(nodeId: string, mine: { readonly held: Held; putAtMs: number | undefined }): Promise<void> {
    await this.#board.put(this.#entry(nodeId), JSON.stringify(mine.held), ENTRY_TTL_TIMES * this.#rules.ttlMs);
    mine.putAtMs = this.#rules.clock.monotonicMs();
  }

  #tell(message: Message): Promise<void> {
    return this.#board.publish(TOPIC, JSON.stringify(message));
  }
}

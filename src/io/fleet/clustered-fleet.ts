import { AsyncLocalStorage } from "node:async_hooks";
import { type Fault, fault } from "../../contract/faults.ts";
import type { ChangeFeed } from "../../domain/fleet/change-feed.ts";
import type { CoordinationStore, Lock } from "../../domain/fleet/coordination-store.ts";
import { type CacheReloader, ChangeNotPropagated, type Fleet } from "../../domain/fleet/fleet.ts";
import type { Clock } from "../../kit/clock.ts";
import type { IdGenerator } from "../../kit/id-generator.ts";
import type { Log } from "../../kit/log.ts";
import { cancelTimer, type Timer, type Timers } from "../../kit/timers.ts";
import { CoalescedTask } from "./coalesced-task.ts";

export type ClusteredFleetDeps = {
  readonly id: string;
  /** As `RedisSettings.left`: nobody waits for them any more once this one follows. */
  readonly retiredInstanceIds?: readonly string[];
  readonly store: CoordinationStore;
  /** Gives a workspace another version in the shared state. */
  bumpVersion(workspaceId: string): Promise<void>;
  /** Another name whenever the shared state may have lost what it was told last. */
  walletGeneration?(): string | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: IdGenerator;
  readonly warn: Log["warn"];
};

/** The lock under which something runs; what it leaves running when it ends runs under none. */
type Turn = { lock: Lock | undefined };

const BEAT_MS = 1_000;
/** Whoever is alive is on the board again by then, also when it has just lost everything. */
const HEARD_MS = 1_500;
/** An instance that was not heard of for this long is gone. */
const ALIVE_MS = 10_000;
const LEADER: { readonly ttlMs: number; readonly waitMs: number } = { ttlMs: 10_000, waitMs: 0 };
const ALONE = { ttlMs: 15_000, waitMs: 10_000 } as const;
/** An instance that died between its commit and its word about it is found out by this look at SQL. */
const LOOK_EVERY_MS = 5_000;
/** A change that is saved and cannot be told is told again and again for this long before whoever made it hears of that. */
const TELL_MS_MAX = 5_000;
const TELL_AGAIN_MS = 100;
/** Changes are kept for this long, and the last one for ever. */
const KEPT_MS = 24 * 3_600_000;
const VERSION_KEPT_MS = 7 * 24 * 3_600_000;

const INSTANCE = "instance:";
const VERSION = "changes";
const GONE = "gone";

/** One of several instances: who they are is on the board, what they changed is in SQL. */
export class ClusteredFleet implements Fleet {
  readonly id: string;
  readonly isSingleInstance = false;
  readonly #parts: ClusteredFleetDeps;
  readonly #turn = new AsyncLocalStorage<Turn>();
  readonly #pulling = new CoalescedTask(() => this.#pull());
  readonly #checking = new CoalescedTask(() => this.#check());
  /** By workspace, the version in the shared state that what is in memory is at least as new as. */
  readonly #versions = new Map<string, string>();
  /** Workspaces whose change could not be told yet; null: something of the deployment. */
  readonly #owed = new Set<string | null>();
  /** By id, when an instance was last seen; time in which nobody could be seen does not count. */
  readonly #seenAtMs = new Map<string, number>();
  #changes: ChangeFeed | undefined;
  #reload: CacheReloader | undefined;
  #begunAtMs = 0;
  #beatAtMs = 0;
  #seq = 0;
  #pulledAtMs = 0;
  /** What the board said when everything it stood for had been loaded. */
  #seen: string | undefined;
  #filling: string | undefined;
  #leading: Lock | undefined;
  #timer: Timer | undefined;
  #beating: Promise<void> = Promise.resolve();
  #looking: Promise<void> | undefined;
  #deaf: () => void = () => undefined;
  #isStopped = false;

  constructor(parts: ClusteredFleetDeps) {
    this.#parts = parts;
    this.id = parts.id;
  }

  get isLeader(): boolean {
    return this.#leading?.isHeld === true;
  }

  get instanceCount(): number {
    return Math.max(1, this.#seenAtMs.size);
  }

  /** Before anything is loaded from SQL: what is changed from here on is loaded again. */
  async start(changes: ChangeFeed): Promise<void> {
    const { store, clock } = this.#parts;
    this.#changes = changes;
    this.#begunAtMs = clock.monotonicMs();
    this.#beatAtMs = this.#begunAtMs;
    this.#seen = await store.get(VERSION);
    this.#seq = await changes.latestSeq();
    this.#pulledAtMs = clock.monotonicMs();
    await this.#beat();
    this.#next();
  }

  /** Everything is loaded: what others have changed meanwhile is loaded again, and whatever they change from here on. */
  async follow(reload: CacheReloader): Promise<void> {
    this.#reload = reload;
    const { store } = this.#parts;
    const deaf = [
      store.subscribe(VERSION, () => {
        this.#pulling.run().catch((error: unknown) => this.#tellOf(error));
      }),
      store.subscribe(GONE, (id) => this.#seenAtMs.delete(id)),
    ];
    this.#deaf = () => {
      for (const one of deaf) one();
    };
    await this.#pulling.run();
    for (const id of this.#parts.retiredInstanceIds ?? []) await this.#gone(id);
  }

  /** Ids of those that are alive, also when the board has just lost everything. */
  async knownInstanceIds(): Promise<readonly string[]> {
    for (const id of await this.instanceIds()) this.#seenAtMs.set(id, this.#parts.clock.monotonicMs());
    return [...this.#seenAtMs.keys()];
  }

  /** How long it may take until an instance is heard of that is not known here yet. */
  get discoveryMs(): number {
    return Math.max(0, this.#begunAtMs + HEARD_MS - this.#parts.clock.monotonicMs());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#deaf();
    cancelTimer(this.#timer);
    await this.#beating;
    await this.#looking;
    await this.#leading?.release().catch(() => undefined);
    await this.#gone(this.id);
  }

  async withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const lock = await this.#parts.store.acquireLock(name, ALONE).catch(() => undefined);
    if (lock === undefined) throw busy();
    const turn: Turn = { lock };
    try {
      return await this.#turn.run(turn, work);
    } finally {
      turn.lock = undefined;
      await lock.release().catch(() => undefined);
    }
  }

  assertLocksHeld(): void {
    if (this.#turn.getStore()?.lock?.isHeld === false) throw busy();
  }

  async publishChange(workspaceId: string | null): Promise<void> {
    const { clock, timers } = this.#parts;
    this.#owed.add(workspaceId);
    const untilMs = clock.monotonicMs() + TELL_MS_MAX;
    for (;;)
      try {
        return await this.#pay();
      } catch (error) {
        // A key that was made is shown only once: a moment without the board is no reason to lose it.
        if (this.#isStopped || clock.monotonicMs() >= untilMs) {
          this.#tellOf(error);
          throw new ChangeNotPropagated();
        }
        await new Promise<void>((resolve) => void timers.after(TELL_AGAIN_MS, resolve));
      }
  }

  catchUp(): Promise<void> {
    return this.#checking.run();
  }

  isCurrent(workspaceId: string, version: string | undefined): boolean {
    if (version === undefined) return true;
    this.#mindLoss();
    return this.#versions.get(workspaceId) === version;
  }

  /**
   * Whoever sees a new version of a workspace sees another word on the board too, because that is put there first. Where
   * the board says nothing new it is only this instance that had not heard of the version yet.
   */
  async refreshWorkspace(workspaceId: string, version: string): Promise<void> {
    const filling = this.#mindLoss();
    await this.#checking.run();
    if (filling === this.#mindLoss()) this.#versions.set(workspaceId, version);
  }

  async instanceIds(): Promise<readonly string[]> {
    return [...(await this.#parts.store.list(INSTANCE)).keys()];
  }

  /** Cheap: SQL is asked only where the board has another word than before, or none to give. */
  async #check(): Promise<void> {
    const { store } = this.#parts;
    const filling = this.#mindLoss();
    let said = await store.get(VERSION).catch(() => null);
    if (said !== null && said !== undefined && said === this.#seen) return;
    // A board that has lost its word gets one before SQL is asked: what is changed from here on has another.
    if (said === undefined) said = await this.#newWord().catch(() => null);
    await this.#pulling.run().catch((error: unknown) => {
      this.#tellOf(error);
      throw behind();
    });
    if (said !== null && filling === this.#mindLoss()) this.#seen = said;
  }

  /** A replica that took over may say again what was true before the last change. */
  #mindLoss(): string | undefined {
    const filling = this.#parts.walletGeneration?.();
    if (filling !== this.#filling) {
      this.#filling = filling;
      this.#seen = undefined;
      this.#versions.clear();
    }
    return filling;
  }

  async #pull(): Promise<void> {
    const [changes, reload] = [this.#changes, this.#reload];
    if (changes === undefined || reload === undefined) return;
    const nowMs = this.#parts.clock.monotonicMs();
    const { seq, of } = await changes.changesSince(this.#seq);
    if (of === "missed") await reload.reloadAll();
    else
      for (const workspaceId of of)
        await (workspaceId === null ? reload.reloadDeployment() : reload.reloadWorkspace(workspaceId));
    this.#seq = seq;
    this.#pulledAtMs = nowMs;
  }

  async #gone(id: string): Promise<void> {
    const { store } = this.#parts;
    await store.delete(`${INSTANCE}${id}`).catch(() => undefined);
    await store.publish(GONE, id).catch(() => undefined);
  }

  /** Tells what is owed. What is told twice is loaded twice, and no harm. */
  async #pay(): Promise<void> {
    const { store, bumpVersion } = this.#parts;
    const owed = [...this.#owed];
    if (owed.length === 0) return;
    await this.#newWord();
    await Promise.all(owed.map((workspaceId) => (workspaceId === null ? undefined : bumpVersion(workspaceId))));
    await store.publish(VERSION, this.id);
    for (const workspaceId of owed) this.#owed.delete(workspaceId);
  }

  async #newWord(): Promise<string> {
    const word = this.#parts.ids.next("chg_");
    await this.#parts.store.put(VERSION, word, VERSION_KEPT_MS);
    return word;
  }

  #next(): void {
    if (this.#isStopped) return;
    this.#timer = this.#parts.timers.after(BEAT_MS, () => {
      this.#beating = this.#beat().finally(() => this.#next());
    });
  }

  async #beat(): Promise<void> {
    const { store } = this.#parts;
    try {
      await store.put(`${INSTANCE}${this.id}`, "", ALIVE_MS);
      await this.#lookAround();
      if (!this.isLeader) this.#leading = await store.acquireLock("leader", LEADER);
      await this.#pay();
    } catch (error) {
      this.#tellOf(error);
    }
    // Beside the beat: whoever waits for SQL is alive.
    this.#looking ??= this.#lookAtSql().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookAtSql(): Promise<void> {
    const { clock } = this.#parts;
    // Not only once a request finds another version: SQL may be away by then, and what it stands for was loaded long ago.
    const checked =
      this.#reload === undefined ? undefined : await this.#checking.run().catch((error: unknown) => error);
    // That was told of already.
    if (checked !== undefined) return;
    try {
      if (clock.monotonicMs() - this.#pulledAtMs >= LOOK_EVERY_MS) await this.#pulling.run();
      if (this.isLeader && this.#reload !== undefined) await this.#changes?.purge(clock.nowMs() - KEPT_MS);
    } catch (error) {
      this.#tellOf(error);
    }
  }

  async #lookAround(): Promise<void> {
    const nowMs = this.#parts.clock.monotonicMs();
    const blindMs = nowMs - this.#beatAtMs > 3 * BEAT_MS ? nowMs - this.#beatAtMs : 0;
    for (const [id, atMs] of this.#seenAtMs) this.#seenAtMs.set(id, atMs + blindMs);
    await this.knownInstanceIds();
    for (const [id, atMs] of this.#seenAtMs) if (nowMs - atMs > ALIVE_MS) this.#seenAtMs.delete(id);
    this.#beatAtMs = nowMs;
  }

  #tellOf(error: unknown): void {
    this.#parts.warn({ err: error }, "other instances cannot be followed at the moment; it is tried again");
  }
}

function busy(): Fault {
  return fault("service_unavailable", {
    message: "Another change is being made, or the shared state does not answer. Try again shortly.",
    headers: { "retry-after": "2" },
  });
}

function behind(): Fault {
  return fault("service_unavailable", {
    message: "Something was changed, and it cannot be loaded at the moment. Try again shortly.",
    headers: { "retry-after": "2" },
  });
}

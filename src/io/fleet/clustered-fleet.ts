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
  /** As `RedisSettings.retiredInstanceIds`: they leave the fleet when this instance follows it. */
  readonly retiredInstanceIds?: readonly string[];
  readonly store: CoordinationStore;
  /** Gives a workspace a new version in the shared state. */
  bumpVersion(workspaceId: string): Promise<void>;
  /** Changes whenever the shared state may have lost its last writes. */
  walletGeneration?(): string | undefined;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: IdGenerator;
  readonly warn: Log["warn"];
};

const HEARTBEAT_MS = 1_000;
/** A live instance has published its heartbeat again by then, also after the store lost everything. */
const DISCOVERY_MS = 1_500;
/** An instance without a heartbeat for this long has crashed. */
const INSTANCE_TTL_MS = 10_000;
const LEADER_LOCK = { ttlMs: 10_000, waitMs: 0 } as const;
const WORK_LOCK = { ttlMs: 15_000, waitMs: 10_000 } as const;
/** Finds changes of an instance that crashed between its commit and its notification. */
const SQL_CHECK_EVERY_MS = 5_000;
/** A saved change that cannot be published is retried for this long before the caller gets an error. */
const PUBLISH_MS_MAX = 5_000;
const PUBLISH_RETRY_MS = 100;
const CHANGES_RETAINED_MS = 24 * 3_600_000;
const CHANGE_TOKEN_TTL_MS = 7 * 24 * 3_600_000;

const INSTANCE_PREFIX = "instance:";
const CHANGES = "changes";
const LEFT_TOPIC = "gone";

/** One of several instances. Membership is in the coordination store, changes are in SQL. */
export class ClusteredFleet implements Fleet {
  readonly id: string;
  readonly isSingleInstance = false;
  readonly #deps: ClusteredFleetDeps;
  /** Locks under which work is running here. */
  readonly #workLocks = new Set<Lock>();
  readonly #pulling = new CoalescedTask(() => this.#pullChanges());
  readonly #checking = new CoalescedTask(() => this.#checkForChanges());
  /** By workspace, the version in the shared state that the cache is at least as new as. */
  readonly #versions = new Map<string, string>();
  /** Workspaces whose change is not published yet; null: something of the deployment. */
  readonly #unpublished = new Set<string | null>();
  /** By instance, its last heartbeat; time without access to the store does not count. */
  readonly #lastSeenMs = new Map<string, number>();
  #changes: ChangeFeed | undefined;
  #reloader: CacheReloader | undefined;
  #startedAtMs = 0;
  #heartbeatAtMs = 0;
  #seq = 0;
  #pulledAtMs = 0;
  /** The change token in the store when every change before it was loaded. */
  #loadedToken: string | undefined;
  #walletGeneration: string | undefined;
  #leaderLock: Lock | undefined;
  #timer: Timer | undefined;
  #heartbeat: Promise<void> = Promise.resolve();
  #sqlCheck: Promise<void> | undefined;
  #unsubscribe: () => void = () => undefined;
  #isStopped = false;

  constructor(deps: ClusteredFleetDeps) {
    this.#deps = deps;
    this.id = deps.id;
  }

  get isLeader(): boolean {
    return this.#leaderLock?.isHeld === true;
  }

  get instanceCount(): number {
    return Math.max(1, this.#lastSeenMs.size);
  }

  /** Call it before anything is loaded from SQL: later changes are loaded again. */
  async start(changes: ChangeFeed): Promise<void> {
    const { store, clock } = this.#deps;
    this.#changes = changes;
    this.#startedAtMs = clock.monotonicMs();
    this.#heartbeatAtMs = this.#startedAtMs;
    this.#loadedToken = await store.get(CHANGES);
    this.#seq = await changes.latestSeq();
    this.#pulledAtMs = clock.monotonicMs();
    await this.#beat();
    this.#scheduleHeartbeat();
  }

  /** Call it when everything is loaded: loads what changed meanwhile, and from then on every change. */
  async follow(reloader: CacheReloader): Promise<void> {
    this.#reloader = reloader;
    const { store } = this.#deps;
    const unsubscribes = [
      store.subscribe(CHANGES, () => {
        this.#pulling.run().catch((error: unknown) => this.#warn(error));
      }),
      store.subscribe(LEFT_TOPIC, (id) => this.#lastSeenMs.delete(id)),
    ];
    this.#unsubscribe = () => {
      for (const unsubscribe of unsubscribes) unsubscribe();
    };
    await this.#pulling.run();
    for (const id of this.#deps.retiredInstanceIds ?? []) await this.#leave(id);
  }

  /** Live instances, also right after the store lost everything. */
  async knownInstanceIds(): Promise<readonly string[]> {
    for (const id of await this.instanceIds()) this.#lastSeenMs.set(id, this.#deps.clock.monotonicMs());
    return [...this.#lastSeenMs.keys()];
  }

  /** How long an instance that is unknown here may still take to appear. */
  get discoveryMs(): number {
    return Math.max(0, this.#startedAtMs + DISCOVERY_MS - this.#deps.clock.monotonicMs());
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#unsubscribe();
    cancelTimer(this.#timer);
    await this.#heartbeat;
    await this.#sqlCheck;
    await this.#leaderLock?.release().catch(() => undefined);
    await this.#leave(this.id);
  }

  async withLock<T>(name: string, work: () => Promise<T>): Promise<T> {
    const lock = await this.#deps.store.acquireLock(name, WORK_LOCK).catch(() => undefined);
    if (lock === undefined) throw lockUnavailable();
    this.#workLocks.add(lock);
    try {
      return await work();
    } finally {
      this.#workLocks.delete(lock);
      await lock.release().catch(() => undefined);
    }
  }

  assertLocksHeld(): void {
    for (const lock of this.#workLocks) if (!lock.isHeld) throw lockUnavailable();
  }

  async publishChange(workspaceId: string | null): Promise<void> {
    const { clock, timers } = this.#deps;
    this.#unpublished.add(workspaceId);
    const untilMs = clock.monotonicMs() + PUBLISH_MS_MAX;
    for (;;)
      try {
        return await this.#publishChanges();
      } catch (error) {
        // A new key is shown only once: a short outage of the store must not lose the response.
        if (this.#isStopped || clock.monotonicMs() >= untilMs) {
          this.#warn(error);
          throw new ChangeNotPropagated();
        }
        await new Promise<void>((resolve) => void timers.after(PUBLISH_RETRY_MS, resolve));
      }
  }

  catchUp(): Promise<void> {
    return this.#checking.run();
  }

  isCurrent(workspaceId: string, version: string | undefined): boolean {
    if (version === undefined) return true;
    this.#forgetAfterLoss();
    return this.#versions.get(workspaceId) === version;
  }

  /**
   * The change token is written before the version of a workspace, so a new version implies a new token. With the same
   * token, this instance only had not seen the version yet.
   */
  async refreshWorkspace(workspaceId: string, version: string): Promise<void> {
    const generation = this.#forgetAfterLoss();
    await this.#checking.run();
    if (generation === this.#forgetAfterLoss()) this.#versions.set(workspaceId, version);
  }

  async instanceIds(): Promise<readonly string[]> {
    return [...(await this.#deps.store.list(INSTANCE_PREFIX)).keys()];
  }

  /** Reads SQL only when the store has a new change token, or none. */
  async #checkForChanges(): Promise<void> {
    const { store } = this.#deps;
    const generation = this.#forgetAfterLoss();
    let token = await store.get(CHANGES).catch(() => null);
    if (token !== null && token !== undefined && token === this.#loadedToken) return;
    // A store that lost the token gets a new one before SQL is read, so that later changes differ from it.
    if (token === undefined) token = await this.#putNewToken().catch(() => null);
    await this.#pulling.run().catch((error: unknown) => {
      this.#warn(error);
      throw changesNotLoaded();
    });
    if (token !== null && generation === this.#forgetAfterLoss()) this.#loadedToken = token;
  }

  /** After a failover, a replica may return tokens and versions from before the last change. */
  #forgetAfterLoss(): string | undefined {
    const generation = this.#deps.walletGeneration?.();
    if (generation !== this.#walletGeneration) {
      this.#walletGeneration = generation;
      this.#loadedToken = undefined;
      this.#versions.clear();
    }
    return generation;
  }

  async #pullChanges(): Promise<void> {
    const [changes, reloader] = [this.#changes, this.#reloader];
    if (changes === undefined || reloader === undefined) return;
    const nowMs = this.#deps.clock.monotonicMs();
    const { seq, workspaceIds } = await changes.changesSince(this.#seq);
    if (workspaceIds === "missed") await reloader.reloadAll();
    else
      for (const workspaceId of workspaceIds)
        await (workspaceId === null ? reloader.reloadDeployment() : reloader.reloadWorkspace(workspaceId));
    this.#seq = seq;
    this.#pulledAtMs = nowMs;
  }

  async #leave(id: string): Promise<void> {
    const { store } = this.#deps;
    await store.delete(`${INSTANCE_PREFIX}${id}`).catch(() => undefined);
    await store.publish(LEFT_TOPIC, id).catch(() => undefined);
  }

  /** Idempotent: a change that is published twice is only loaded twice. */
  async #publishChanges(): Promise<void> {
    const { store, bumpVersion } = this.#deps;
    const workspaceIds = [...this.#unpublished];
    if (workspaceIds.length === 0) return;
    await this.#putNewToken();
    await Promise.all(workspaceIds.map((workspaceId) => (workspaceId === null ? undefined : bumpVersion(workspaceId))));
    await store.publish(CHANGES, this.id);
    for (const workspaceId of workspaceIds) this.#unpublished.delete(workspaceId);
  }

  async #putNewToken(): Promise<string> {
    const token = this.#deps.ids.next("chg_");
    await this.#deps.store.put(CHANGES, token, CHANGE_TOKEN_TTL_MS);
    return token;
  }

  #scheduleHeartbeat(): void {
    if (this.#isStopped) return;
    this.#timer = this.#deps.timers.after(HEARTBEAT_MS, () => {
      this.#heartbeat = this.#beat().finally(() => this.#scheduleHeartbeat());
    });
  }

  async #beat(): Promise<void> {
    const { store } = this.#deps;
    try {
      await store.put(`${INSTANCE_PREFIX}${this.id}`, "", INSTANCE_TTL_MS);
      await this.#updateMembership();
      if (!this.isLeader) this.#leaderLock = await store.acquireLock("leader", LEADER_LOCK);
      await this.#publishChanges();
    } catch (error) {
      this.#warn(error);
    }
    // Not awaited: an instance that waits for SQL is alive.
    this.#sqlCheck ??= this.#checkSql().finally(() => {
      this.#sqlCheck = undefined;
    });
  }

  async #checkSql(): Promise<void> {
    const { clock } = this.#deps;
    // Loaded ahead of requests: when one needs the change, SQL may be unavailable.
    const failure =
      this.#reloader === undefined ? undefined : await this.#checking.run().catch((error: unknown) => error);
    // The check has logged it.
    if (failure !== undefined) return;
    try {
      if (clock.monotonicMs() - this.#pulledAtMs >= SQL_CHECK_EVERY_MS) await this.#pulling.run();
      if (this.isLeader && this.#reloader !== undefined)
        await this.#changes?.purge(clock.nowMs() - CHANGES_RETAINED_MS);
    } catch (error) {
      this.#warn(error);
    }
  }

  async #updateMembership(): Promise<void> {
    const nowMs = this.#deps.clock.monotonicMs();
    const outageMs = nowMs - this.#heartbeatAtMs > 3 * HEARTBEAT_MS ? nowMs - this.#heartbeatAtMs : 0;
    for (const [id, atMs] of this.#lastSeenMs) this.#lastSeenMs.set(id, atMs + outageMs);
    await this.knownInstanceIds();
    for (const [id, atMs] of this.#lastSeenMs) if (nowMs - atMs > INSTANCE_TTL_MS) this.#lastSeenMs.delete(id);
    this.#heartbeatAtMs = nowMs;
  }

  #warn(error: unknown): void {
    this.#deps.warn({ err: error }, "fleet: synchronization failed, retrying");
  }
}

function lockUnavailable(): Fault {
  return fault("service_unavailable", {
    message: "Another change is in progress, or Redis does not respond. Try again shortly.",
    headers: { "retry-after": "2" },
  });
}

function changesNotLoaded(): Fault {
  return fault("service_unavailable", {
    message: "A recent change cannot be loaded at the moment. Try again shortly.",
    headers: { "retry-after": "2" },
  });
}

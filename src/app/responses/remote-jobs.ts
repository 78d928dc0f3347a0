import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Fleet } from "../../domain/fleet/fleet.ts";
import { isUnfinished, type ResponseStore, type UnfinishedResponse } from "../../domain/responses/response-store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { BackgroundJobs } from "./background-jobs.ts";

type RemoteJobsDeps = {
  readonly board: CoordinationStore;
  readonly fleet: Pick<Fleet, "id" | "isLeader">;
  readonly store: ResponseStore;
  readonly clock: Clock;
  readonly jobs: BackgroundJobs;
  readonly warn: Log["warn"];
  /** Resumes jobs that no live instance runs. */
  resume(ids: ReadonlySet<string>): Promise<void>;
};

const STOP_CHANNEL = "responses:stop";
const ANNOUNCEMENT_PREFIX = "working:";
const ANNOUNCE_EVERY_MS = 3_000;
const ANNOUNCE_TTL_MS = 20_000;
/** A job that no instance has announced for this long is orphaned; longer than an empty coordination store takes to refill. */
const ORPHAN_AFTER_MS = 10_000;
/**
 * Grace period for a job whose record may not be in SQL yet: one that never began (its refusal is still being ingested), or
 * one whose stored response may be charged in the journal of an instance that is restarting.
 */
const ORPHAN_AFTER_INGEST_MS = 45_000;
const STOP_WAIT_MS = 5_000;
/** Upper bound at shutdown for checks that wait on an unresponsive store. */
const SHUTDOWN_WAIT_MS = 1_000;
const POLL_EVERY_MS = 100;
/** The stop message is repeated, since pub/sub messages are lost while an instance reconnects. */
const POLLS_PER_MESSAGE = 5;

const StopMessage = z.object({ workspaceId: z.string(), id: z.string().nullable() });

/** Coordinates background jobs across instances: announces local jobs, forwards cancellations and resumes orphans. */
export class RemoteJobs {
  readonly #deps: RemoteJobsDeps;
  readonly #unsubscribe: () => void;
  /** By response id: monotonic time since which no instance announces it. */
  readonly #orphanedSinceMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #announcing: Promise<void> | undefined;
  #orphanCheck: Promise<void> | undefined;
  #cancelCheck: Promise<void> | undefined;

  constructor(deps: RemoteJobsDeps) {
    this.#deps = deps;
    this.#unsubscribe = deps.board.subscribe(STOP_CHANNEL, (message) => this.#onStop(message));
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#announcing = this.#announce().finally(() => {
        if (this.#timer !== undefined) this.start();
      });
    }, ANNOUNCE_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#unsubscribe();
    await Promise.race([this.#checksDone(), sleep(SHUTDOWN_WAIT_MS, undefined, { ref: false })]);
    const { board, fleet } = this.#deps;
    await board.delete(`${ANNOUNCEMENT_PREFIX}${fleet.id}`).catch(() => undefined);
  }

  /** Cancels one response (null: all of the workspace) on every instance; resolves when the end is stored, or at the timeout. */
  async end(workspaceId: string, id: string | null): Promise<void> {
    const { board, clock } = this.#deps;
    const untilMs = clock.monotonicMs() + STOP_WAIT_MS;
    for (let polls = 0; clock.monotonicMs() < untilMs; polls += 1) {
      if (polls % POLLS_PER_MESSAGE === 0) await board.publish(STOP_CHANNEL, JSON.stringify({ workspaceId, id }));
      if (!(await this.#isUnfinished(workspaceId, id))) return;
      await sleep(POLL_EVERY_MS);
    }
  }

  /** True when an instance announces the job; a job that has just begun may not be announced yet. */
  async isAnnounced(id: string): Promise<boolean> {
    return (await this.#announcedIds()).includes(id);
  }

  async #isUnfinished(workspaceId: string, id: string | null): Promise<boolean> {
    const { store, clock } = this.#deps;
    if (id === null) return (await store.unfinished()).some((row) => row.workspaceId === workspaceId);
    const stored = await store.find(workspaceId, id, clock.nowMs());
    return stored !== undefined && isUnfinished(stored);
  }

  #onStop(message: string): void {
    const { jobs, warn } = this.#deps;
    const { workspaceId, id } = StopMessage.parse(JSON.parse(message));
    const job = id === null ? undefined : jobs.find(workspaceId, id);
    const ended = id === null ? jobs.cancelAll(workspaceId) : job === undefined ? undefined : jobs.cancel(job);
    ended?.catch((error: unknown) => warn({ err: error, requestId: id }, "responses: remote cancel failed"));
  }

  async #announcedIds(): Promise<string[]> {
    const lists = await this.#deps.board.list(ANNOUNCEMENT_PREFIX);
    return [...lists.values()].flatMap((text) => ResponseIds.parse(JSON.parse(text)));
  }

  /** Never waits for SQL: a late announcement would let another instance resume jobs that run here. */
  async #announce(): Promise<void> {
    const { board, fleet, jobs } = this.#deps;
    this.#cancelCheck ??= this.#checkCancelled().finally(() => {
      this.#cancelCheck = undefined;
    });
    try {
      await board.put(`${ANNOUNCEMENT_PREFIX}${fleet.id}`, JSON.stringify(jobs.ids), ANNOUNCE_TTL_MS);
    } catch (error) {
      return this.#resetOrphans(error);
    }
    this.#orphanCheck ??= this.#checkOrphans().finally(() => {
      this.#orphanCheck = undefined;
    });
  }

  async #checksDone(): Promise<void> {
    await this.#announcing;
    await Promise.all([this.#orphanCheck, this.#cancelCheck]);
  }

  async #checkCancelled(): Promise<void> {
    const { jobs, warn } = this.#deps;
    await jobs.stopUnwanted().catch((error: unknown) => {
      warn({ err: error }, "responses: check for cancelled jobs failed");
    });
  }

  async #checkOrphans(): Promise<void> {
    try {
      if (this.#deps.fleet.isLeader) await this.#resumeOrphans();
      else this.#orphanedSinceMs.clear();
    } catch (error) {
      this.#resetOrphans(error);
    }
  }

  /** A failing coordination store may have lost its data, so the orphan timeouts restart. */
  #resetOrphans(error: unknown): void {
    this.#orphanedSinceMs.clear();
    this.#deps.warn({ err: error }, "responses: check for orphaned jobs failed");
  }

  async #resumeOrphans(): Promise<void> {
    const { store, clock, resume } = this.#deps;
    const unfinished = new Map((await store.unfinished()).map((row) => [row.id, orphanAfterMs(row)]));
    const announced = await this.#announcedIds();
    const nowMs = clock.monotonicMs();
    for (const id of announced) unfinished.delete(id);
    for (const id of this.#orphanedSinceMs.keys()) if (!unfinished.has(id)) this.#orphanedSinceMs.delete(id);
    for (const id of unfinished.keys()) if (!this.#orphanedSinceMs.has(id)) this.#orphanedSinceMs.set(id, nowMs);
    const isDue = (id: string, sinceMs: number) => nowMs - sinceMs >= (unfinished.get(id) ?? ORPHAN_AFTER_MS);
    const orphans = [...this.#orphanedSinceMs].filter((since) => isDue(...since)).map(([id]) => id);
    if (orphans.length > 0) await resume(new Set(orphans));
  }
}

function orphanAfterMs({ runs, completed }: UnfinishedResponse): number {
  return runs === 0 || completed !== undefined ? ORPHAN_AFTER_INGEST_MS : ORPHAN_AFTER_MS;
}

const ResponseIds = z.array(z.string());

import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import type { CoordinationStore } from "../../domain/fleet/coordination-store.ts";
import type { Fleet } from "../../domain/fleet/fleet.ts";
import { isUnfinished, type ResponseStore, type UnfinishedResponse } from "../../domain/responses/response-store.ts";
import type { Clock } from "../../kit/clock.ts";
import type { Log } from "../../kit/log.ts";
import type { Jobs } from "./background-jobs.ts";

type Deps = {
  readonly board: CoordinationStore;
  readonly fleet: Pick<Fleet, "id" | "isLeader">;
  readonly store: ResponseStore;
  readonly clock: Clock;
  readonly jobs: Jobs;
  readonly warn: Log["warn"];
  /** Resumes jobs that no live instance runs. */
  resume(ids: ReadonlySet<string>): Promise<void>;
};

const STOP = "responses:stop";
const WORKING = "working:";
const TELL_EVERY_MS = 3_000;
const TELL_TTL_MS = 20_000;
/** A job that no instance has announced for this long is orphaned; longer than an empty coordination store takes to refill. */
const NOBODYS_MS = 10_000;
/**
 * Grace period for a job whose record may not be in SQL yet: one that never began (its refusal is still being ingested), or
 * one whose stored response may be charged in the journal of an instance that is restarting.
 */
const MAY_BE_RECORDED_MS = 45_000;
const STOP_WAIT_MS = 5_000;
/** Upper bound at shutdown for checks that wait on an unresponsive store. */
const LAST_LOOKS_MS = 1_000;
const LOOK_EVERY_MS = 100;
/** The stop message is repeated, since pub/sub messages are lost while an instance reconnects. */
const TELL_EVERY_LOOKS = 5;

const Stop = z.object({ workspaceId: z.string(), id: z.string().nullable() });

/** Coordinates background jobs across instances: announces local jobs, forwards cancellations and resumes orphans. */
export class WorkElsewhere {
  readonly #deps: Deps;
  readonly #deaf: () => void;
  /** By response id: monotonic time since which no instance announces it. */
  readonly #nobodysSinceMs = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #telling: Promise<void> | undefined;
  #lookingAround: Promise<void> | undefined;
  #lookingAtOwn: Promise<void> | undefined;

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#deaf = deps.board.subscribe(STOP, (message) => this.#hear(message));
  }

  start(): void {
    this.#timer = setTimeout(() => {
      this.#telling = this.#tell().finally(() => {
        if (this.#timer !== undefined) this.start();
      });
    }, TELL_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#deaf();
    await Promise.race([this.#looked(), sleep(LAST_LOOKS_MS, undefined, { ref: false })]);
    const { board, fleet } = this.#deps;
    await board.delete(`${WORKING}${fleet.id}`).catch(() => undefined);
  }

  /** Cancels one response (null: all of the workspace) on every instance; resolves when the end is stored, or at the timeout. */
  async end(workspaceId: string, id: string | null): Promise<void> {
    const { board, clock } = this.#deps;
    const untilMs = clock.monotonicMs() + STOP_WAIT_MS;
    for (let looks = 0; clock.monotonicMs() < untilMs; looks += 1) {
      if (looks % TELL_EVERY_LOOKS === 0) await board.publish(STOP, JSON.stringify({ workspaceId, id }));
      if (!(await this.#isUnfinished(workspaceId, id))) return;
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** True when an instance announces the job; a job that has just begun may not be announced yet. */
  async isWorkedOn(id: string): Promise<boolean> {
    return (await this.#told()).includes(id);
  }

  async #isUnfinished(workspaceId: string, id: string | null): Promise<boolean> {
    const { store, clock } = this.#deps;
    if (id === null) return (await store.unfinished()).some((row) => row.workspaceId === workspaceId);
    const stored = await store.find(workspaceId, id, clock.nowMs());
    return stored !== undefined && isUnfinished(stored);
  }

  #hear(message: string): void {
    const { jobs, warn } = this.#deps;
    const { workspaceId, id } = Stop.parse(JSON.parse(message));
    const job = id === null ? undefined : jobs.find(workspaceId, id);
    const ended = id === null ? jobs.cancelAll(workspaceId) : job === undefined ? undefined : jobs.cancel(job);
    ended?.catch((error: unknown) => warn({ err: error, requestId: id }, "responses: remote cancel failed"));
  }

  async #told(): Promise<string[]> {
    const lists = await this.#deps.board.list(WORKING);
    return [...lists.values()].flatMap((text) => Ids.parse(JSON.parse(text)));
  }

  /** Never waits for SQL: a late announcement would let another instance resume jobs that run here. */
  async #tell(): Promise<void> {
    const { board, fleet, jobs } = this.#deps;
    this.#lookingAtOwn ??= this.#lookAtOwn().finally(() => {
      this.#lookingAtOwn = undefined;
    });
    try {
      await board.put(`${WORKING}${fleet.id}`, JSON.stringify(jobs.ids), TELL_TTL_MS);
    } catch (error) {
      return this.#unlearn(error);
    }
    this.#lookingAround ??= this.#lookAround().finally(() => {
      this.#lookingAround = undefined;
    });
  }

  async #looked(): Promise<void> {
    await this.#telling;
    await Promise.all([this.#lookingAround, this.#lookingAtOwn]);
  }

  async #lookAtOwn(): Promise<void> {
    const { jobs, warn } = this.#deps;
    await jobs.stopUnwanted().catch((error: unknown) => {
      warn({ err: error }, "responses: check for cancelled jobs failed");
    });
  }

  async #lookAround(): Promise<void> {
    try {
      if (this.#deps.fleet.isLeader) await this.#takeUp();
      else this.#nobodysSinceMs.clear();
    } catch (error) {
      this.#unlearn(error);
    }
  }

  /** A failing coordination store may have lost its data, so the orphan timeouts restart. */
  #unlearn(error: unknown): void {
    this.#nobodysSinceMs.clear();
    this.#deps.warn({ err: error }, "responses: check for orphaned jobs failed");
  }

  async #takeUp(): Promise<void> {
    const { store, clock, resume } = this.#deps;
    const unfinished = new Map((await store.unfinished()).map((row) => [row.id, waitMsFor(row)]));
    const told = await this.#told();
    const nowMs = clock.monotonicMs();
    for (const id of told) unfinished.delete(id);
    for (const id of this.#nobodysSinceMs.keys()) if (!unfinished.has(id)) this.#nobodysSinceMs.delete(id);
    for (const id of unfinished.keys()) if (!this.#nobodysSinceMs.has(id)) this.#nobodysSinceMs.set(id, nowMs);
    const isDue = (id: string, sinceMs: number) => nowMs - sinceMs >= (unfinished.get(id) ?? NOBODYS_MS);
    const nobodys = [...this.#nobodysSinceMs].filter((since) => isDue(...since)).map(([id]) => id);
    if (nobodys.length > 0) await resume(new Set(nobodys));
  }
}

function waitMsFor({ runs, completed }: UnfinishedResponse): number {
  return runs === 0 || completed !== undefined ? MAY_BE_RECORDED_MS : NOBODYS_MS;
}

const Ids = z.array(z.string());

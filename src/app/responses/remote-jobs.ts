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
  /** Takes up work that nobody does any more. */
  resume(ids: ReadonlySet<string>): Promise<void>;
};

const STOP = "responses:stop";
const WORKING = "working:";
const TELL_EVERY_MS = 3_000;
const TELL_TTL_MS = 20_000;
/** What nobody says to work on for so long is nobody's: longer than a board takes to learn everything again. */
const NOBODYS_MS = 10_000;
/**
 * What nobody has begun may have been refused by who took it: longer than its refusal takes to be in the log. An answer that
 * was made may be charged in the journal of one that is on its way back.
 */
const MAY_BE_RECORDED_MS = 45_000;
const STOP_WAIT_MS = 5_000;
/** What waits for a store that does not answer is not waited for at the end. */
const LAST_LOOKS_MS = 1_000;
const LOOK_EVERY_MS = 100;
/** Whoever had lost its connection when it was told hears it then. */
const TELL_EVERY_LOOKS = 5;

const Stop = z.object({ workspaceId: z.string(), id: z.string().nullable() });

/** Background work of other instances: each says what it works on, and ends it when it is told to, or finds out. */
export class WorkElsewhere {
  readonly #deps: Deps;
  readonly #deaf: () => void;
  /** By id, since when nobody is known to work on it. */
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

  /** Ends the work on a response (null: on all of a workspace), and resolves when that is in the store, or not in time. */
  async end(workspaceId: string, id: string | null): Promise<void> {
    const { board, clock } = this.#deps;
    const untilMs = clock.monotonicMs() + STOP_WAIT_MS;
    for (let looks = 0; clock.monotonicMs() < untilMs; looks += 1) {
      if (looks % TELL_EVERY_LOOKS === 0) await board.publish(STOP, JSON.stringify({ workspaceId, id }));
      if (!(await this.#isUnfinished(workspaceId, id))) return;
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** Whether an instance says that it works on a response; one that has just begun with it may not have said so yet. */
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
    ended?.catch((error: unknown) => warn({ err: error, requestId: id }, "a background response could not be ended"));
  }

  /** All that instances say to work on. */
  async #told(): Promise<string[]> {
    const lists = await this.#deps.board.list(WORKING);
    return [...lists.values()].flatMap((text) => Ids.parse(JSON.parse(text)));
  }

  /** Waits for no SQL, which may not answer for long: others would take up what is worked on here. */
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
      warn({ err: error }, "whether background work is still wanted could not be looked up yet");
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

  /** A board that could not be read, or be told, may have lost everything: its time to learn begins anew. */
  #unlearn(error: unknown): void {
    this.#nobodysSinceMs.clear();
    this.#deps.warn({ err: error }, "background work of other instances could not be looked after yet");
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

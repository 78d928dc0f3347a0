import { setImmediate as nextTurn, setTimeout as sleep } from "node:timers/promises";
import { Fault, fault } from "../../contract/faults.ts";
import {
  type BackgroundRequest,
  isUnfinished,
  type ResponseCompleteness,
  type ResponseRun,
  type StoredResponse,
} from "../../domain/responses/response-store.ts";
import type { JsonObject } from "../../kit/json.ts";
import { pluralize } from "../../kit/pluralize.ts";
import { type Job, LEFT } from "./background-job.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { noRoomFault, noRoomFor } from "./storage-quota.ts";

/** Events are written together: a commit costs as much for one as for many. */
const FLUSH_EVERY_MS = 500;
/** An answer that was paid for is not given up while the store is away for minutes. */
const SAVE_FOR_MS = 15 * 60_000;
/** A charge waits so long for its answer to be stored: a store that is away holds nobody's money up. */
const MADE_WAIT_MS = 5000;
const UNHEARD_FIRST_WAIT_MS = 100;
const UNHEARD_MOST_WAIT_MS = 5000;
/** Sooner than anybody takes up what nobody works on. */
const REFUSE_WAITS_MS = [0, 500, 2000];
const RETRY_AFTER_SECONDS = 5;
const LAST_WORDS_MS = 1000;

/** All background work of this process. What is over is found in the store. */
export class Jobs {
  readonly #deps: ResponsesDeps;
  readonly #running = new Map<string, Work>();

  constructor(deps: ResponsesDeps) {
    this.#deps = deps;
  }

  find(workspaceId: string, id: string): Job | undefined {
    const job = this.#running.get(id)?.job;
    return job?.stored.workspaceId === workspaceId ? job : undefined;
  }

  /** What is being worked on here. */
  get ids(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Takes new work: it has its place, and is in the store as queued. */
  async open(job: Job, request: BackgroundRequest): Promise<void> {
    const { stored } = job;
    this.#checkRoom(stored.workspaceId);
    // What was asked at the same time may have taken the room since. Work that is taken is kept to its end.
    const noRoom = noRoomFor(this.#deps, stored.workspaceId, 2 * request.body.length);
    if (noRoom !== undefined) throw noRoomFault(noRoom, "background");
    const work = new Work(job, this.#deps);
    this.#running.set(stored.id, work);
    try {
      await this.#deps.store.add(stored, request);
    } catch (error) {
      work.rest();
      this.#running.delete(stored.id);
      job.close([]);
      const refusal = unstorable(error);
      void this.#refuse(stored, refusal);
      throw refusal;
    }
  }

  /**
   * Its row may have been written without a word of it: then it is over, so that nobody takes it up. One that cannot be
   * ended now, or comes later yet, is ended by whoever takes it up, who finds the refusal in the log. Never rejects.
   */
  async #refuse({ id, workspaceId, response }: StoredResponse, { code, message }: Fault): Promise<void> {
    const { store, warn } = this.#deps;
    const failed = { ...response, status: "failed", error: { code, message } };
    for (const waitMs of REFUSE_WAITS_MS) {
      await sleep(waitMs);
      try {
        await store.finish({ id, workspaceId, status: "failed", response: failed, events: [] });
        return;
      } catch (error) {
        warn({ err: error, requestId: id }, "a background response that was refused could not be ended yet");
      }
    }
  }

  /** Takes work up again that an earlier process had begun. */
  reopen(job: Job): void {
    this.#running.set(job.stored.id, new Work(job, this.#deps));
  }

  /** The work begins, or is stopped before it does: it may have been called off since it was taken. */
  async begin(job: Job): Promise<void> {
    const begun = await this.#deps.store.startRun(job.stored.id).catch((error: unknown) => {
      // It may have begun unheard.
      job.begin(job.ownRun);
      throw error;
    });
    if (begun.is === "begun") job.begin(begun.run);
    else if (begun.is === "anothers") job.leave("taken_up");
    else await this.#stop(job);
  }

  /** Before anything of it is settled: why that is not for this run to do; undefined: it is. Never rejects. */
  async takeEnd(id: string, made: ResponseCompleteness): Promise<Fault | undefined> {
    return this.#running.get(id)?.takeEnd(made);
  }

  /** Stores a whole answer before it is charged, so that no charge is left without its answer. Never rejects. */
  async made(job: Job, final: string): Promise<void> {
    await this.#running.get(job.stored.id)?.made(final);
  }

  /** The work is settled; `failure` is what it threw. Never rejects. */
  async finish(job: Job, failure: unknown): Promise<void> {
    await this.#running.get(job.stored.id)?.finish(failure);
    this.#running.delete(job.stored.id);
  }

  /** Stops it, and resolves when its end is in the store. */
  async cancel(job: Job): Promise<void> {
    job.cancel();
    await job.over;
  }

  async cancelAll(workspaceId: string): Promise<void> {
    await Promise.all(this.#of(workspaceId).map((job) => this.cancel(job)));
  }

  /** Stops what another instance has called off, ended, deleted or taken up without being heard here. */
  async stopUnwanted(): Promise<void> {
    // One that has not begun finds out when it does.
    const begun = [...this.#running.values()].map(({ job }) => job).filter(({ run }) => run !== undefined);
    if (begun.length === 0) return;
    const wanted = await this.#deps.store.activeRuns();
    for (const job of begun) {
      const newest = wanted.get(job.stored.id);
      // An older run is the newest where this one could not begin: it comes to its own end.
      if (newest === undefined || newest > job.ownRun) await this.#stop(job);
    }
  }

  /** Only who calls it off, or deletes it, pays for what there is of it: an end that stands may have its own charge. */
  async #stop(job: Job): Promise<void> {
    const { workspaceId, id } = job.stored;
    const { store, clock } = this.#deps;
    const stored = await store.find(workspaceId, id, clock.nowMs());
    if (stored !== undefined && !isUnfinished(stored)) job.leave("ended_elsewhere");
    else if (stored !== undefined && job.run !== undefined && stored.runs > job.run) job.leave("taken_up");
    else job.cancel();
  }

  /** Waits for what is running. */
  async drain(timeoutMs: number): Promise<void> {
    await this.#idle(timeoutMs);
  }

  /** Gives up what is left; called before the connections to providers are closed. */
  abandon(): void {
    for (const { job } of this.#running.values()) job.abandon();
  }

  /** Resolves when nobody works on anything any more. */
  async settled(): Promise<void> {
    await this.#idle(LAST_WORDS_MS);
  }

  /**
   * Whether a request is work that another run goes on with: hold and claim are that one's. Of several instances another
   * may have what this one gives up, or takes it up now.
   */
  isTakenUp(id: string): boolean {
    const job = this.#running.get(id)?.job;
    return job?.isTakenUp === true || (job?.isGivenUp === true && this.#deps.instances === "several");
  }

  /**
   * Whether a request is work whose record is another run's, unless it is charged: one of work that was given up would
   * keep the next start from running it again. What the journal has as begun ends there.
   */
  isUnrecorded(id: string): boolean {
    const job = this.#running.get(id)?.job;
    return job?.isGivenUp === true || (job?.isTakenUp === true && !job.sink.started);
  }

  async #idle(timeoutMs: number): Promise<void> {
    const { clock } = this.#deps;
    const deadline = clock.monotonicMs() + timeoutMs;
    while (this.#running.size > 0 && clock.monotonicMs() < deadline) await sleep(20);
  }

  #checkRoom(workspaceId: string): void {
    const { all, workspace } = this.#deps.jobsMax;
    if (this.#of(workspaceId).length >= workspace)
      throw full(
        `This workspace has ${pluralize(workspace, "background response")} under way, its limit (GATEWAY_BACKGROUND_WORKSPACE_MAX).`,
      );
    if (this.#running.size >= all)
      throw full(
        `The gateway has ${pluralize(all, "background response")} under way, its limit (GATEWAY_BACKGROUND_MAX).`,
      );
  }

  #of(workspaceId: string): Job[] {
    const jobs = [...this.#running.values()].map(({ job }) => job);
    return jobs.filter(({ stored }) => stored.workspaceId === workspaceId);
  }
}

/** One job with what is written of it. */
class Work {
  readonly job: Job;
  readonly #deps: ResponsesDeps;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;

  constructor(job: Job, deps: ResponsesDeps) {
    this.job = job;
    this.#deps = deps;
    this.#timer = setInterval(() => this.#flush(), FLUSH_EVERY_MS);
    void job.answering.then(() => this.#mark());
  }

  /** Nothing more is written of it by itself. */
  rest(): void {
    clearInterval(this.#timer);
  }

  async takeEnd(made: ResponseCompleteness): Promise<Fault | undefined> {
    const { store, instances, endWaitMs } = this.#deps;
    const { stored, run, ownRun, phase, isTaken } = this.job;
    if (instances === "one" && made === "all") this.job.take();
    if (instances === "one" || isTaken) return undefined;
    // What was given up is settled as that; but a whole answer is kept, if nobody else has come to an end.
    if (made === "less" && phase !== "running") return phase === "abandoned" ? undefined : LEFT;
    const own = { id: stored.id, run: ownRun };
    const heard = this.#untilHeard(
      "whose a background response is to end could not be looked up yet",
      () => store.claimEnd(own, run === undefined ? "unbegun" : made),
      endWaitMs,
    );
    // One question alone may go unanswered for longer than that.
    const end = await Promise.race([heard, sleep(endWaitMs, undefined, { ref: false })]);
    // Nobody answered for so long: a whole answer is kept, unless it is known by now that another end stands, and anything
    // else left to who takes it up, as if this had died.
    const isOpen = this.job.phase === "running" || this.job.phase === "taken_up";
    const isKept = end === undefined && made === "all" && isOpen;
    if (end === "taken" || end === "deleted" || isKept) {
      this.job.take();
      return undefined;
    }
    this.job.leave(end === "over" ? "ended_elsewhere" : "taken_up");
    if (end !== undefined) return LEFT;
    // A question that nobody waits for any more takes the end all the same, whether or not that is heard: it may have by
    // now, or only at its own end. The number of one that has not begun may be another's by now, who has the end by it.
    if (run !== undefined) void this.#giveEndBack(own);
    void heard.then((late) => (late === "taken" || late === undefined ? this.#giveEndBack(own) : undefined));
    return LEFT;
  }

  /** Never rejects. */
  async #giveEndBack(run: Pick<ResponseRun, "id" | "run">): Promise<void> {
    await this.#untilHeard(
      "a background response that was left could not be given back",
      () => this.#deps.store.releaseEnd(run),
      SAVE_FOR_MS,
    );
  }

  /** Events of what is followed come first: where it ends by its answer they are not lacking. */
  async made(final: string): Promise<void> {
    const answer = this.job.answerIn(final);
    const { workspaceId, keyId } = this.job.stored;
    if (answer === undefined || !this.#deps.mayKeep(workspaceId, keyId)) return;
    await Promise.race([this.#storeMade(answer), sleep(MADE_WAIT_MS, undefined, { ref: false })]);
  }

  async #storeMade(response: JsonObject): Promise<void> {
    const { store, warn } = this.#deps;
    const { stored, servedBy } = this.job;
    try {
      // The newest events are heard from the next turn on.
      await nextTurn();
      await this.#writing;
      this.#flush();
      await this.#writing;
      await store.saveCompleted(stored, { response, servedBy });
    } catch (error) {
      warn(
        { err: error, requestId: stored.id },
        "the answer of a background response could not be stored before its charge",
      );
    }
  }

  async finish(failure: unknown): Promise<void> {
    this.rest();
    await this.#writing;
    // What was given up has no end, unless it came to one after all: then it is in the books, and so it is kept.
    if (this.job.phase === "running" || this.job.isTaken || this.job.isMade) await this.#save(failure);
  }

  #flush(): void {
    const { run, phase } = this.job;
    if (this.#writing !== undefined || phase !== "running" || run === undefined) return;
    this.#writing = this.#append(run).finally(() => {
      this.#writing = undefined;
    });
  }

  /** Whoever finds the work without this process knows by it that a part was made, and makes nothing twice. */
  async #mark(): Promise<void> {
    const { store, warn } = this.#deps;
    const { id } = this.job.stored;
    while (this.job.phase === "running") {
      try {
        return await store.markAnswering(id);
      } catch (error) {
        warn({ err: error, requestId: id }, "that a background response has begun could not be stored yet");
        await sleep(FLUSH_EVERY_MS);
      }
    }
  }

  async #append(run: number): Promise<void> {
    const { store, warn, mayKeep } = this.#deps;
    const { id, workspaceId, keyId } = this.job.stored;
    const events = this.job.unstored;
    try {
      const keeps = mayKeep(workspaceId, keyId);
      const kept = keeps ? await store.appendEvents({ workspaceId, id, run }, events) : "unwanted";
      // Who follows it has heard them, or is too slow for what cannot be kept for anyone.
      if (kept === "stored" || this.job.isFull) this.job.forget(events.length);
    } catch (error) {
      warn({ err: error, requestId: id }, "events of a background response could not be stored yet");
    }
  }

  async #save(failure: unknown): Promise<void> {
    const { id, workspaceId, keyId } = this.job.stored;
    const { store, warn, mayKeep } = this.#deps;
    if (failure !== undefined && !(failure instanceof Fault && failure.status < 500))
      warn({ err: failure, requestId: id, ...detailOf(failure) }, "a background response failed");
    const keeps = mayKeep(workspaceId, keyId);
    const { status, response, last } = keeps ? this.job.end(failure) : this.job.unkept(failure);
    const events = keeps ? [...this.job.unstored, ...last] : [];
    // An answer is kept, whoever makes it: it is in the books. Anything else is no end of what a newer run works on.
    const run = this.job.isMade ? undefined : this.job.ownRun;
    const { servedBy } = this.job;
    await this.#untilHeard(
      "the end of a background response could not be stored",
      () => store.finish({ id, workspaceId, run, status, response, events, servedBy }),
      SAVE_FOR_MS,
    );
    this.job.close(last);
  }

  /** What the store answers, which may be away; undefined: not in time, or the process ends before. */
  async #untilHeard<T>(problem: string, ask: () => Promise<T>, forMs: number): Promise<T | undefined> {
    const { clock, warn } = this.#deps;
    const deadline = clock.monotonicMs() + forMs;
    for (let waitMs = UNHEARD_FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, UNHEARD_MOST_WAIT_MS)) {
      try {
        return await ask();
      } catch (error) {
        warn({ err: error, requestId: this.job.stored.id }, problem);
        if (clock.monotonicMs() + waitMs > deadline || this.job.phase === "abandoned") return undefined;
        await sleep(waitMs);
      }
    }
  }
}

function detailOf(failure: unknown): object {
  return failure instanceof Fault ? { code: failure.code, detail: failure.detail } : {};
}

function full(sentence: string): Fault {
  return fault("rate_limit_exceeded", {
    message: `${sentence} Wait until one of them is over, or cancel one.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

function unstorable(error: unknown): Fault {
  return fault("service_unavailable", {
    message: "The gateway cannot store the response now, and background work needs that. Try again shortly.",
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    detail: { cause: String(error) },
  });
}

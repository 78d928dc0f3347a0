import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
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
import { type BackgroundJob, TAKEN_OVER } from "./background-job.ts";
import type { ResponsesDeps } from "./responses-deps.ts";
import { storageFault, storageRefusalFor } from "./storage-quota.ts";

/** Events are written in batches: one commit costs the same for one event as for many. */
const FLUSH_EVERY_MS = 500;
/** A charged response is retried this long while the store is unavailable. */
const SAVE_TIMEOUT_MS = 15 * 60_000;
/** Maximum delay of a charge while its response is being stored. */
const REPLY_WAIT_MS = 5000;
const RETRY_FIRST_MS = 100;
const RETRY_MAX_MS = 5000;
/** Shorter than the orphan timeout of `RemoteJobs`. */
const REFUSE_DELAYS_MS = [0, 500, 2000];
const RETRY_AFTER_SECONDS = 5;
const SHUTDOWN_GRACE_MS = 1000;

/** The background jobs that run in this process; finished ones are only in the store. */
export class BackgroundJobs {
  readonly #deps: ResponsesDeps;
  readonly #running = new Map<string, JobWriter>();

  constructor(deps: ResponsesDeps) {
    this.#deps = deps;
  }

  find(workspaceId: string, id: string): BackgroundJob | undefined {
    const job = this.#running.get(id)?.job;
    return job?.stored.workspaceId === workspaceId ? job : undefined;
  }

  get ids(): readonly string[] {
    return [...this.#running.keys()];
  }

  /** Reserves a job slot and stores the response as queued. */
  async open(job: BackgroundJob, request: BackgroundRequest): Promise<void> {
    const { stored } = job;
    this.#checkLimits(stored.workspaceId);
    // Concurrent requests may have used up the quota since it was checked. An accepted job is stored to its end.
    const chars = 2 * request.body.length;
    const noRoom = storageRefusalFor(this.#deps, stored.workspaceId, chars);
    if (noRoom !== undefined) throw storageFault(noRoom, "background");
    const work = new JobWriter(job, this.#deps);
    this.#running.set(stored.id, work);
    try {
      await this.#deps.store.add(stored, request, chars);
    } catch (error) {
      work.stopFlushing();
      this.#running.delete(stored.id);
      job.close([]);
      const refusal = storeUnavailableFault(error);
      void this.#refuse(stored, refusal);
      throw refusal;
    }
  }

  /**
   * The insert may have succeeded although it reported an error, so the row is ended to keep it from being resumed. A row
   * that appears later is ended on resume, which finds the refusal in the log. Never rejects.
   */
  async #refuse({ id, workspaceId, response }: StoredResponse, { code, message }: Fault): Promise<void> {
    const { store, warn } = this.#deps;
    const failed = { ...response, status: "failed", error: { code, message } };
    for (const waitMs of REFUSE_DELAYS_MS) {
      await sleep(waitMs);
      try {
        await store.finish({ id, workspaceId, status: "failed", response: failed, events: [] });
        return;
      } catch (error) {
        warn({ err: error, requestId: id }, "responses: refused job not closed");
      }
    }
  }

  /** Registers a job that an earlier process had begun. */
  reopen(job: BackgroundJob): void {
    this.#running.set(job.stored.id, new JobWriter(job, this.#deps));
  }

  /** Begins the job, or stops it if it was cancelled since it was queued. */
  async begin(job: BackgroundJob): Promise<void> {
    const begun = await this.#deps.store.startRun(job.stored.id).catch((error: unknown) => {
      // The update may have succeeded although it reported an error.
      job.begin(job.ownRun);
      throw error;
    });
    if (begun.is === "started") job.begin(begun.run);
    else if (begun.is === "other_run") job.handOver("taken_over");
    else await this.#stopOrLeave(job);
  }

  /** Claims the end before settlement; returns a fault when another run owns it. Never rejects. */
  async claimEnd(id: string, completeness: ResponseCompleteness): Promise<Fault | undefined> {
    return this.#running.get(id)?.claimEnd(completeness);
  }

  /** Stores a complete response before it is charged. Never rejects. */
  async storeReply(job: BackgroundJob, final: string): Promise<void> {
    await this.#running.get(job.stored.id)?.storeReply(final);
  }

  /** Stores the end after settlement; `failure` is what the pipeline threw. Never rejects. */
  async finish(job: BackgroundJob, failure: unknown): Promise<void> {
    await this.#running.get(job.stored.id)?.finish(failure);
    this.#running.delete(job.stored.id);
  }

  /** Resolves when the end is stored. */
  async cancel(job: BackgroundJob): Promise<void> {
    job.cancel();
    await job.over;
  }

  async cancelAll(workspaceId: string): Promise<void> {
    await Promise.all(this.#jobsOf(workspaceId).map((job) => this.cancel(job)));
  }

  /** Stops jobs that another instance has cancelled, ended, deleted or taken over. */
  async stopUnwanted(): Promise<void> {
    // A job that has not begun is checked when it begins.
    const begun = [...this.#running.values()].map(({ job }) => job).filter(({ run }) => run !== undefined);
    if (begun.length === 0) return;
    const wanted = await this.#deps.store.activeRuns();
    for (const job of begun) {
      const newest = wanted.get(job.stored.id);
      // The stored run is older when this run's begin failed; such a job ends by itself.
      if (newest === undefined || newest > job.ownRun) await this.#stopOrLeave(job);
    }
  }

  /** Partial output is charged only after a cancellation or deletion; a stored end has its own charge. */
  async #stopOrLeave(job: BackgroundJob): Promise<void> {
    const { workspaceId, id } = job.stored;
    const { store, clock } = this.#deps;
    const stored = await store.find(workspaceId, id, clock.nowMs());
    if (stored !== undefined && !isUnfinished(stored)) job.handOver("ended_elsewhere");
    else if (stored !== undefined && job.run !== undefined && stored.runs > job.run) job.handOver("taken_over");
    else job.cancel();
  }

  async drain(timeoutMs: number): Promise<void> {
    await this.#waitUntilIdle(timeoutMs);
  }

  /** Abandons the remaining jobs; called before upstream connections are closed. */
  abandon(): void {
    for (const { job } of this.#running.values()) job.abandon();
  }

  /** Resolves when no job runs any more, or after a grace period. */
  async settled(): Promise<void> {
    await this.#waitUntilIdle(SHUTDOWN_GRACE_MS);
  }

  /**
   * True when another run owns the job's hold and idempotency claim. With several instances that also applies to a job
   * abandoned here, since another instance may resume it at once.
   */
  isTakenOver(id: string): boolean {
    const job = this.#running.get(id)?.job;
    return job?.isTakenOver === true || (job?.isAbandoned === true && this.#deps.instances === "several");
  }

  /**
   * True when an uncharged record of this run must not be written: it would keep the next start from resuming the job. A
   * request with an open journal entry is always closed there.
   */
  isUnrecorded(id: string): boolean {
    const job = this.#running.get(id)?.job;
    return job?.isAbandoned === true || (job?.isTakenOver === true && !job.sink.started);
  }

  async #waitUntilIdle(timeoutMs: number): Promise<void> {
    const { clock } = this.#deps;
    const deadline = clock.monotonicMs() + timeoutMs;
    while (this.#running.size > 0 && clock.monotonicMs() < deadline) await sleep(20);
  }

  #checkLimits(workspaceId: string): void {
    const { all, workspace } = this.#deps.jobsMax;
    if (this.#jobsOf(workspaceId).length >= workspace)
      throw limitFault(
        `This workspace has ${pluralize(workspace, "background response")} in progress, its limit (GATEWAY_BACKGROUND_WORKSPACE_MAX).`,
      );
    if (this.#running.size >= all)
      throw limitFault(
        `The gateway has ${pluralize(all, "background response")} in progress, its limit (GATEWAY_BACKGROUND_MAX).`,
      );
  }

  #jobsOf(workspaceId: string): BackgroundJob[] {
    const jobs = [...this.#running.values()].map(({ job }) => job);
    return jobs.filter(({ stored }) => stored.workspaceId === workspaceId);
  }
}

/** Writes one job to the store while it runs. */
class JobWriter {
  readonly job: BackgroundJob;
  readonly #deps: ResponsesDeps;
  readonly #timer: NodeJS.Timeout;
  #writing: Promise<void> | undefined;

  constructor(job: BackgroundJob, deps: ResponsesDeps) {
    this.job = job;
    this.#deps = deps;
    this.#timer = setInterval(() => this.#flush(), FLUSH_EVERY_MS);
    void job.answering.then(() => this.#markBegun());
  }

  stopFlushing(): void {
    clearInterval(this.#timer);
  }

  async claimEnd(completeness: ResponseCompleteness): Promise<Fault | undefined> {
    const { store, instances, endWaitMs } = this.#deps;
    const { stored, run, ownRun, phase, ownsEnd } = this.job;
    if (instances === "one" && completeness === "complete") this.job.claimEnd();
    if (instances === "one" || ownsEnd) return undefined;
    // An abandoned job settles as such; a complete reply is stored unless another run has ended the response.
    if (completeness === "partial" && phase !== "running") return phase === "abandoned" ? undefined : TAKEN_OVER;
    const own = { id: stored.id, run: ownRun };
    const claim = this.#retryStore(
      "responses: completion claim failed",
      () => store.claimEnd(own, run === undefined ? "not_started" : completeness),
      endWaitMs,
    );
    // A single query may block for longer than the limit.
    const end = await Promise.race([claim, sleep(endWaitMs, undefined, { ref: false })]);
    // The store did not respond in time: a complete reply is stored unless another end is known; anything else is left to
    // the run that resumes the job, as after a crash.
    const isOpen = this.job.phase === "running" || this.job.phase === "taken_over";
    const shouldStore = end === undefined && completeness === "complete" && isOpen;
    if (end === "claimed" || end === "deleted" || shouldStore) {
      this.job.claimEnd();
      return undefined;
    }
    this.job.handOver(end === "finished" ? "ended_elsewhere" : "taken_over");
    if (end !== undefined) return TAKEN_OVER;
    // The abandoned query can still claim the end, now or later, so the claim is returned. A run number that was never
    // begun may belong to another run by now and is left alone.
    if (run !== undefined) void this.#returnEnd(own);
    void claim.then((late) => (late === "claimed" || late === undefined ? this.#returnEnd(own) : undefined));
    return TAKEN_OVER;
  }

  /** Never rejects. */
  async #returnEnd(run: Pick<ResponseRun, "id" | "run">): Promise<void> {
    await this.#retryStore(
      "responses: completion claim not released",
      () => this.#deps.store.releaseEnd(run),
      SAVE_TIMEOUT_MS,
    );
  }

  /** Events are stored before the reply, so that a resumed end has them all. */
  async storeReply(final: string): Promise<void> {
    const reply = await this.job.parseReply(final);
    const { workspaceId, keyId } = this.job.stored;
    if (reply === undefined || !this.#deps.mayKeep(workspaceId, keyId)) return;
    await Promise.race([this.#writeReply(reply), sleep(REPLY_WAIT_MS, undefined, { ref: false })]);
  }

  async #writeReply(response: JsonObject): Promise<void> {
    const { store, warn } = this.#deps;
    const { stored, servedBy } = this.job;
    try {
      await this.job.sink.writing;
      // The newest events are published in the next tick.
      await nextTick();
      await this.#writing;
      this.#flush();
      await this.#writing;
      await store.saveCompleted(stored, { response, servedBy });
    } catch (error) {
      warn({ err: error, requestId: stored.id }, "responses: reply not stored before its charge");
    }
  }

  async finish(failure: unknown): Promise<void> {
    this.stopFlushing();
    await this.job.sink.writing;
    await this.#writing;
    // An abandoned job has no end to store, unless its reply completed and was charged after all.
    if (this.job.phase === "running" || this.job.ownsEnd || this.job.isComplete) await this.#save(failure);
  }

  #flush(): void {
    const { run, phase } = this.job;
    if (this.#writing !== undefined || phase !== "running" || run === undefined) return;
    this.#writing = this.#append(run).finally(() => {
      this.#writing = undefined;
    });
  }

  /** Marks that output has begun, so that a resume does not generate it twice. */
  async #markBegun(): Promise<void> {
    const { store, warn } = this.#deps;
    const { id } = this.job.stored;
    while (this.job.phase === "running") {
      try {
        return await store.markAnswering(id);
      } catch (error) {
        warn({ err: error, requestId: id }, "responses: start marker not stored");
        await sleep(FLUSH_EVERY_MS);
      }
    }
  }

  async #append(run: number): Promise<void> {
    const { store, warn, mayKeep } = this.#deps;
    const { id, workspaceId, keyId } = this.job.stored;
    const events = this.job.unstored;
    try {
      const mayStore = mayKeep(workspaceId, keyId);
      const appended = mayStore ? await store.appendEvents({ workspaceId, id, run }, events) : "inactive";
      // Followers have these events already, or are too slow for events that cannot be stored.
      if (appended === "stored" || this.job.isFull) this.job.dropStored(events.length);
    } catch (error) {
      warn({ err: error, requestId: id }, "responses: events not stored");
    }
  }

  async #save(failure: unknown): Promise<void> {
    const { id, workspaceId, keyId } = this.job.stored;
    const { store, warn, mayKeep } = this.#deps;
    if (failure !== undefined && !(failure instanceof Fault && failure.status < 500))
      warn({ err: failure, requestId: id, ...faultDetail(failure) }, "responses: job failed");
    const mayStore = mayKeep(workspaceId, keyId);
    const { status, response, last } = await (mayStore ? this.job.end(failure) : this.job.endUnstored(failure));
    const events = mayStore ? [...this.job.unstored, ...last] : [];
    // A complete reply is charged and therefore stored by any run; any other end must not overwrite a newer run.
    const run = this.job.isComplete ? undefined : this.job.ownRun;
    const { servedBy } = this.job;
    await this.#retryStore(
      "responses: completion not stored",
      () => store.finish({ id, workspaceId, run, status, response, events, servedBy }),
      SAVE_TIMEOUT_MS,
    );
    this.job.close(last);
  }

  /** Retries a store call; undefined at the deadline or at shutdown. */
  async #retryStore<T>(failureMessage: string, operation: () => Promise<T>, forMs: number): Promise<T | undefined> {
    const { clock, warn } = this.#deps;
    const deadline = clock.monotonicMs() + forMs;
    for (let waitMs = RETRY_FIRST_MS; ; waitMs = Math.min(2 * waitMs, RETRY_MAX_MS)) {
      try {
        return await operation();
      } catch (error) {
        warn({ err: error, requestId: this.job.stored.id }, failureMessage);
        if (clock.monotonicMs() + waitMs > deadline || this.job.phase === "abandoned") return undefined;
        await sleep(waitMs);
      }
    }
  }
}

function faultDetail(failure: unknown): object {
  return failure instanceof Fault ? { code: failure.code, detail: failure.detail } : {};
}

function limitFault(sentence: string): Fault {
  return fault("rate_limit_exceeded", {
    message: `${sentence} Wait until one of them has finished, or cancel one.`,
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
  });
}

function storeUnavailableFault(error: unknown): Fault {
  return fault("service_unavailable", {
    message: "The gateway cannot store responses at the moment, which background responses require. Try again shortly.",
    headers: { "retry-after": String(RETRY_AFTER_SECONDS) },
    detail: { cause: String(error) },
  });
}

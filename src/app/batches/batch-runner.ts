import { setImmediate as nextTick, setTimeout as sleep } from "node:timers/promises";
import type { BatchHead, BatchOrigin } from "../../domain/batches/batch.ts";
import { cancelTimer, type Timer } from "../../kit/timers.ts";
import type { BatchesDeps } from "./batches-context.ts";
import { finalizeBatch } from "./finalize-batch.ts";
import { LineRunner } from "./line-runner.ts";
import { OutcomeWriter } from "./outcome-writer.ts";
import { PartRun } from "./part-run.ts";
import { validateBatch } from "./validate-batch.ts";

const LEASE_MS = 30_000;
/** While there is work. */
const BUSY_CHECK_MS = 1_000;
const IDLE_CHECK_MS = 5_000;
/** Delay of lines while interactive requests wait for a slot. */
const YIELD_MS = 50;
const PARTS_MAX = 8;
const PARTS_PER_BATCH = 2;
/** Share of the concurrency while interactive requests run. */
const YIELDING_SHARE = 1 / 4;
const STOP_WAIT_MS = 1_000;

/**
 * Works on the batches of all workspaces, together with the runners of other processes: each claims parts with a lease.
 * Workspaces take turns, and interactive requests come first.
 */
export class BatchRunner {
  readonly #deps: BatchesDeps;
  readonly #lines: LineRunner;
  #parts: PartRun[] = [];
  /** Steps for a whole batch, by its id. */
  readonly #steps = new Map<string, Promise<void>>();
  readonly #origins = new Map<string, BatchOrigin>();
  #timer: Timer | undefined;
  #checking: Promise<void> | undefined;
  #isCheckWanted = false;
  #isPumping = false;
  #isStopping = false;

  constructor(deps: BatchesDeps) {
    this.#deps = deps;
    this.#lines = new LineRunner(deps, new OutcomeWriter(deps.batches));
  }

  async start(): Promise<void> {
    // Claims of an earlier process would delay its batches until their leases end.
    if (this.#deps.instances === "one") await this.#deps.batches.resetClaims();
    this.notify();
  }

  /** Looks for work now. */
  notify(): void {
    if (this.#isStopping) return;
    if (this.#checking !== undefined) {
      this.#isCheckWanted = true;
      return;
    }
    cancelTimer(this.#timer);
    this.#checking = this.#check()
      .catch((error: unknown) => {
        this.#deps.warn({ err: error }, "batches: check for work failed");
        return false;
      })
      .then((isBusy) => {
        this.#checking = undefined;
        if (this.#isStopping) return;
        if (this.#isCheckWanted) {
          this.#isCheckWanted = false;
          this.notify();
          return;
        }
        this.#timer = this.#deps.timers.after(isBusy ? BUSY_CHECK_MS : IDLE_CHECK_MS, () => this.notify());
        this.#timer.unref?.();
      });
  }

  /** Starts no further lines; resolves when the running ones have ended. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isStopping = true;
    cancelTimer(this.#timer);
    for (const part of this.#parts) part.release();
    const { clock } = this.#deps;
    const deadlineMs = clock.monotonicMs() + timeoutMs;
    while (this.#running > 0 && clock.monotonicMs() < deadlineMs) await sleep(20);
  }

  /** Other processes take over what is left. */
  async stop(): Promise<void> {
    await this.drain(0);
    const steps = Promise.allSettled([this.#checking, ...this.#steps.values()]);
    await Promise.race([steps, sleep(STOP_WAIT_MS, undefined, { ref: false })]);
    if (this.#running > 0) return;
    await this.#deps.batches.releaseAll(this.#deps.owner).catch(() => undefined);
  }

  get #running(): number {
    return this.#parts.reduce((sum, { running }) => sum + running, 0);
  }

  #lease() {
    const nowMs = this.#deps.clock.nowMs();
    return { owner: this.#deps.owner, nowMs, untilMs: nowMs + LEASE_MS };
  }

  /** Renews the claims, ends what has ended, and claims more. True while there are batches to work on. */
  async #check(): Promise<boolean> {
    const { batches, clock } = this.#deps;
    if (this.#parts.length > 0 || this.#steps.size > 0) await batches.renew(this.#lease());
    const heads = await batches.unfinished();
    const nowMs = clock.nowMs();
    const byId = new Map(heads.map((head) => [head.id, head]));
    for (const id of this.#origins.keys()) if (!byId.has(id)) this.#origins.delete(id);
    for (const part of this.#parts) {
      const head = byId.get(part.head.id);
      if (head === undefined || head.status !== "in_progress" || head.expiresAtMs <= nowMs) part.release();
      else part.head = head;
    }
    await this.#endParts();
    for (const head of heads) await this.#advance(head, nowMs);
    await this.#claimParts(heads, nowMs);
    void this.#pump();
    return heads.length > 0;
  }

  /** Starts the step that a whole batch needs now. */
  async #advance(head: BatchHead, nowMs: number): Promise<void> {
    const { batches } = this.#deps;
    if (this.#steps.has(head.id) || this.#isStopping) return;
    if (head.expiresAtMs <= nowMs && head.stop === null && head.status !== "finalizing") {
      await batches.stop(head.id, "expired", nowMs);
      this.#isCheckWanted = true;
      return;
    }
    if (head.status === "validating") return this.#beginStep(head, (claimed) => validateBatch(this.#deps, claimed));
    if (head.status === "in_progress" && head.stop === null) {
      if (this.#parts.some(({ head: { id } }) => id === head.id)) return;
      const { open } = await batches.openParts(head.id, nowMs);
      if (open > 0) return;
    } else {
      // Lines that still run elsewhere end first.
      const { claimed } = await batches.openParts(head.id, nowMs);
      if (claimed > 0) return;
    }
    await this.#beginStep(head, (claimed) => finalizeBatch(this.#deps, claimed));
  }

  async #beginStep(head: BatchHead, step: (head: BatchHead) => Promise<void>): Promise<void> {
    const { batches, warn } = this.#deps;
    if (!(await batches.claim(head.id, this.#lease()))) return;
    const working = step(head)
      .catch((error: unknown) => warn({ err: error, batch: head.id }, "batches: step failed"))
      .finally(() => {
        this.#steps.delete(head.id);
        this.notify();
      });
    this.#steps.set(head.id, working);
  }

  async #claimParts(heads: readonly BatchHead[], nowMs: number): Promise<void> {
    const ready = heads.filter(
      ({ status, pause }) => status === "in_progress" && (pause === null || pause.untilMs <= nowMs),
    );
    const partsOf = (test: (head: BatchHead) => boolean) => this.#parts.filter(({ head }) => test(head)).length;
    const exhausted = new Set<string>();
    while (this.#parts.length < PARTS_MAX && !this.#isStopping) {
      // The workspace with the fewest parts is next, then the batch.
      const next = ready
        .filter(({ id }) => !exhausted.has(id) && partsOf((head) => head.id === id) < PARTS_PER_BATCH)
        .map((head) => ({
          head,
          ofWorkspace: partsOf(({ workspaceId }) => workspaceId === head.workspaceId),
          ofBatch: partsOf(({ id }) => id === head.id),
        }))
        .toSorted((a, b) => a.ofWorkspace - b.ofWorkspace || a.ofBatch - b.ofBatch)[0]?.head;
      if (next === undefined) return;
      if (!(await this.#claimPart(next))) exhausted.add(next.id);
    }
  }

  async #claimPart(head: BatchHead): Promise<boolean> {
    const { batches, owner, warn, clock } = this.#deps;
    const part = await batches.claimPart(head.id, this.#lease());
    if (part === undefined) return false;
    try {
      const origin = await this.#originOf(head);
      const run = origin && (await PartRun.open(this.#deps, this.#lines, { head, part, origin }));
      if (run !== undefined) {
        this.#parts.push(run);
        return true;
      }
      // Without its input the rest of the batch cannot run.
      await batches.releasePart(part, owner);
      await batches.stop(head.id, "cancelled", clock.nowMs());
    } catch (error) {
      // The lease delays the next try.
      warn({ err: error, batch: head.id, part: part.number }, "batches: part not opened");
    }
    return false;
  }

  async #originOf({ id, workspaceId }: BatchHead): Promise<BatchOrigin | undefined> {
    const known = this.#origins.get(id);
    if (known !== undefined) return known;
    const batch = await this.#deps.batches.find(workspaceId, id, 0);
    if (batch !== undefined) this.#origins.set(id, batch.origin);
    return batch?.origin;
  }

  /** Stores the end of parts that are over. */
  async #endParts(): Promise<void> {
    const { batches, owner, clock, limits, warn } = this.#deps;
    const over = this.#parts.filter(({ isOver }) => isOver);
    if (over.length === 0) return;
    this.#parts = this.#parts.filter((part) => !over.includes(part));
    for (const run of over) {
      const { part, head, interruption } = run;
      try {
        if (run.isComplete) await batches.finishPart(part);
        else await batches.releasePart(part, owner);
        const nowMs = clock.nowMs();
        if (interruption?.is === "unfunded")
          await batches.pause(head.id, interruption.reason, nowMs, nowMs + limits.pauseMs);
        else if (interruption?.is === "stop") await batches.stop(head.id, interruption.reason, nowMs);
        else if (head.pause !== null) await batches.resume(head.id);
      } catch (error) {
        // The lease ends by itself, and another run finds the outcomes.
        warn({ err: error, batch: head.id, part: part.number }, "batches: end of part not stored");
      }
    }
  }

  /** Starts lines while there is room, at most one in each event-loop turn. */
  async #pump(): Promise<void> {
    if (this.#isPumping) return;
    this.#isPumping = true;
    try {
      while (!this.#isStopping) {
        const part = this.#nextPart();
        if (part === undefined) break;
        if (this.#running >= this.#concurrency) break;
        if (this.#deps.gateway.queue.queued > 0) {
          this.#deps.timers.after(YIELD_MS, () => void this.#pump());
          break;
        }
        part.startNext(this.#deps.clock.monotonicMs(), () => this.#lineEnded(part));
        await nextTick();
      }
    } finally {
      this.#isPumping = false;
    }
  }

  #lineEnded(part: PartRun): void {
    if (part.isOver) this.notify();
    else void this.#pump();
  }

  get #concurrency(): number {
    const { gateway, limits } = this.#deps;
    const isInteractive = gateway.queue.inUse > this.#running;
    return isInteractive ? Math.max(1, Math.floor(limits.concurrency * YIELDING_SHARE)) : limits.concurrency;
  }

  /** Of the workspace with the fewest running lines. */
  #nextPart(): PartRun | undefined {
    const nowMs = this.#deps.clock.monotonicMs();
    const ready = this.#parts.filter((part) => part.hasDueLine(nowMs));
    const runningOf = (workspaceId: string) =>
      this.#parts.reduce((sum, { head, running }) => sum + (head.workspaceId === workspaceId ? running : 0), 0);
    return ready.toSorted(
      (a, b) => runningOf(a.head.workspaceId) - runningOf(b.head.workspaceId) || a.running - b.running,
    )[0];
  }
}

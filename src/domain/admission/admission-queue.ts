export type AdmissionQueueLimits = {
  /** Requests that are served at once; 0: no limit. */
  readonly slots: number;
  /** Requests that may wait, in all. */
  readonly queuedMax: number;
  readonly waitMs: number;
};

export type QueueRejection = "full" | "too_long" | "left";

/** A request that waits for a place. */
export type QueuedRequest = {
  readonly admission: Promise<"served" | QueueRejection>;
  /** The caller does not want it any more. */
  cancel(): void;
};

/** Sets a timer and answers how to stop it: handed in, so that a run can be replayed. */
export type StartTimer = (ms: number, then: () => void) => () => void;

type Waiter = { readonly workspaceId: string; readonly settle: (end: "served" | QueueRejection) => void };

/**
 * A bounded number of requests at once and a bounded wait before it. Places go round by workspace: one that sends a
 * thousand requests waits behind its own, not in front of everybody else's.
 */
export class AdmissionQueue {
  readonly #limits: AdmissionQueueLimits;
  readonly #startTimer: StartTimer;
  /** In the order in which workspaces have their turn; a map keeps the order of insertion. */
  readonly #queues = new Map<string, Waiter[]>();
  #inUse = 0;
  #queued = 0;

  constructor(rules: AdmissionQueueLimits, after: StartTimer) {
    this.#limits = rules;
    this.#startTimer = after;
  }

  get queued(): number {
    return this.#queued;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** A place at once. Nobody who comes later gets it before those who wait. */
  tryEnter(): "served" | "wait" {
    if (this.#limits.slots > 0 && (this.#inUse >= this.#limits.slots || this.#queued > 0)) return "wait";
    this.#inUse += 1;
    return "served";
  }

  enqueue(workspaceId: string): QueuedRequest {
    if (this.#queued >= this.#limits.queuedMax && !this.#evictForFairness(workspaceId))
      return { admission: Promise.resolve("full"), cancel() {} };
    const { promise, resolve } = Promise.withResolvers<"served" | QueueRejection>();
    const end = (how: QueueRejection) => {
      if (this.#remove(waiter)) waiter.settle(how);
    };
    const stop = this.#startTimer(this.#limits.waitMs, () => end("too_long"));
    const waiter: Waiter = {
      workspaceId,
      settle: (how) => {
        stop();
        resolve(how);
      },
    };
    const line = this.#queues.get(workspaceId);
    if (line === undefined) this.#queues.set(workspaceId, [waiter]);
    else line.push(waiter);
    this.#queued += 1;
    return { admission: promise, cancel: () => end("left") };
  }

  /** Gives a place back, to whoever's turn it is. */
  leave(): void {
    this.#inUse -= 1;
    while (this.#inUse < this.#limits.slots && this.#queued > 0) this.#admitNext();
  }

  /** The first workspace in line sends one in and goes to the end. */
  #admitNext(): void {
    for (const [workspaceId, line] of this.#queues) {
      this.#queues.delete(workspaceId);
      const waiter = line.shift();
      if (line.length > 0) this.#queues.set(workspaceId, line);
      if (waiter === undefined) continue;
      this.#queued -= 1;
      this.#inUse += 1;
      waiter.settle("served");
      return;
    }
  }

  /** A full queue is shared too: who came last in the longest line goes, unless the newcomer's own is as long. */
  #evictForFairness(workspaceId: string): boolean {
    let longest: readonly Waiter[] = [];
    for (const line of this.#queues.values()) if (line.length > longest.length) longest = line;
    const last = longest.at(-1);
    if (last === undefined || longest.length <= (this.#queues.get(workspaceId)?.length ?? 0) + 1) return false;
    this.#remove(last);
    last.settle("full");
    return true;
  }

  #remove(waiter: Waiter): boolean {
    const line = this.#queues.get(waiter.workspaceId);
    const at = line?.indexOf(waiter) ?? -1;
    if (line === undefined || at < 0) return false;
    line.splice(at, 1);
    if (line.length === 0) this.#queues.delete(waiter.workspaceId);
    this.#queued -= 1;
    return true;
  }
}

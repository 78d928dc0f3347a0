export type AdmissionQueueLimits = {
  /** Requests that run concurrently; 0: no limit. */
  readonly slots: number;
  /** Requests that may wait, over all workspaces. */
  readonly queuedMax: number;
  readonly waitMs: number;
};

/** `left`: the caller cancelled. */
export type QueueRejection = "full" | "too_long" | "left";

export type QueuedRequest = {
  readonly admission: Promise<"served" | QueueRejection>;
  cancel(): void;
};

/** Returns how to cancel the timer. */
export type StartTimer = (ms: number, then: () => void) => () => void;

type QueueEntry = { readonly workspaceId: string; readonly settle: (end: "served" | QueueRejection) => void };

/** Waiting requests. They are admitted round-robin by workspace, so that one with a thousand requests delays only itself. */
export class FairQueue {
  /** Waiting requests of all workspaces. */
  count = 0;
  readonly #limits: AdmissionQueueLimits;
  readonly #startTimer: StartTimer;
  /** By workspace, in round-robin order: the order of insertion. */
  readonly #queues = new Map<string, QueueEntry[]>();

  constructor(limits: AdmissionQueueLimits, startTimer: StartTimer) {
    this.#limits = limits;
    this.#startTimer = startTimer;
  }

  enqueue(workspaceId: string): QueuedRequest {
    if (this.count >= this.#limits.queuedMax && !this.#evictForFairness(workspaceId))
      return { admission: Promise.resolve("full"), cancel() {} };
    const { promise, resolve } = Promise.withResolvers<"served" | QueueRejection>();
    const reject = (reason: QueueRejection) => {
      if (this.#remove(entry)) entry.settle(reason);
    };
    const cancelTimer = this.#startTimer(this.#limits.waitMs, () => reject("too_long"));
    const entry: QueueEntry = {
      workspaceId,
      settle: (end) => {
        cancelTimer();
        resolve(end);
      },
    };
    const queue = this.#queues.get(workspaceId);
    if (queue === undefined) this.#queues.set(workspaceId, [entry]);
    else queue.push(entry);
    this.count += 1;
    return { admission: promise, cancel: () => reject("left") };
  }

  /** Admits one request of the first workspace, which moves to the end. */
  admitNext(): boolean {
    for (const [workspaceId, queue] of this.#queues) {
      this.#queues.delete(workspaceId);
      const entry = queue.shift();
      if (queue.length > 0) this.#queues.set(workspaceId, queue);
      if (entry === undefined) continue;
      this.count -= 1;
      entry.settle("served");
      return true;
    }
    return false;
  }

  /** Evicts the newest request of the workspace with the most queued, unless the newcomer's has as many. */
  #evictForFairness(workspaceId: string): boolean {
    let longest: readonly QueueEntry[] = [];
    for (const queue of this.#queues.values()) if (queue.length > longest.length) longest = queue;
    const last = longest.at(-1);
    if (last === undefined || longest.length <= (this.#queues.get(workspaceId)?.length ?? 0) + 1) return false;
    this.#remove(last);
    last.settle("full");
    return true;
  }

  #remove(entry: QueueEntry): boolean {
    const queue = this.#queues.get(entry.workspaceId);
    const at = queue?.indexOf(entry) ?? -1;
    if (queue === undefined || at < 0) return false;
    queue.splice(at, 1);
    if (queue.length === 0) this.#queues.delete(entry.workspaceId);
    this.count -= 1;
    return true;
  }
}

import { type AdmissionQueueLimits, FairQueue, type QueuedRequest, type StartTimer } from "./fair-queue.ts";

/** Bounds concurrent requests and the queue before them. */
export class AdmissionQueue {
  readonly #slots: number;
  readonly #waiting: FairQueue;
  #inUse = 0;

  constructor(limits: AdmissionQueueLimits, startTimer: StartTimer) {
    this.#slots = limits.slots;
    this.#waiting = new FairQueue(limits, startTimer);
  }

  get queued(): number {
    return this.#waiting.count;
  }

  get inUse(): number {
    return this.#inUse;
  }

  /** Takes a free slot; `wait` also while others are queued, so that no request overtakes them. */
  tryEnter(): "served" | "wait" {
    if (this.#slots > 0 && (this.#inUse >= this.#slots || this.#waiting.count > 0)) return "wait";
    this.#inUse += 1;
    return "served";
  }

  enqueue(workspaceId: string): QueuedRequest {
    return this.#waiting.enqueue(workspaceId);
  }

  /** Frees a slot for the next workspace in order. */
  leave(): void {
    this.#inUse -= 1;
    while (this.#inUse < this.#slots && this.#waiting.count > 0) if (this.#waiting.admitNext()) this.#inUse += 1;
  }
}

/** Bounds concurrent requests per endpoint; a full endpoint is skipped, not waited for. */
export class ConcurrencyLimiter {
  readonly #limit: number;
  /** By endpoint; bounded by the catalogue. */
  readonly #slotsInUse = new Map<string, number>();

  /** 0: no limit. */
  constructor(limit: number) {
    this.#limit = limit === 0 ? Infinity : limit;
  }

  acquire(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit, endpointId);
  }

  /** A further slot for a request that already has one: half of all slots stay for other requests. */
  acquireExtra(endpointId: string): "taken" | "full" {
    return this.#acquireWithin(this.#limit / 2, endpointId);
  }

  #acquireWithin(limit: number, endpointId: string): "taken" | "full" {
    const inUse = this.inUse(endpointId);
    if (inUse + 1 > limit) return "full";
    this.#slotsInUse.set(endpointId, inUse + 1);
    return "taken";
  }

  /** A request that is sent in parts counts once per part. */
  inUse(endpointId: string): number {
    return this.#slotsInUse.get(endpointId) ?? 0;
  }

  release(endpointId: string): void {
    // The entry stays at zero: deleting and adding it for every request costs more than it saves.
    this.#slotsInUse.set(endpointId, (this.#slotsInUse.get(endpointId) ?? 1) - 1);
  }
}

/** Bounds the credit of a quiet period; enough for the moment in which a provider goes down. */
const CREDIT_MAX = 100;

/**
 * Bounds concurrent retries to a share of the active requests, with a minimum. It prevents a retry storm: a failing
 * provider must not multiply the load on the others. Retries that fail fast are many although few run concurrently, so
 * above the minimum each one also costs credit, of which every request earns its share.
 */
export class RetryBudget {
  readonly #share: number;
  readonly #minimum: number;
  #active = 0;
  #retries = 0;
  #credit = 0;

  constructor(share = 0.2, minimum = 3) {
    this.#share = share;
    this.#minimum = minimum;
  }

  requestStarted(): void {
    this.#active += 1;
    this.#credit = Math.min(CREDIT_MAX, this.#credit + this.#share);
  }

  requestFinished(): void {
    this.#active -= 1;
  }

  /** `release` follows after the attempt. */
  acquire(): "taken" | "spent" {
    if (this.#retries >= Math.max(this.#minimum, Math.floor(this.#active * this.#share))) return "spent";
    if (this.#retries >= this.#minimum && this.#credit < 1) return "spent";
    // Retries within the minimum go into debt, which later requests repay.
    this.#credit = Math.max(-this.#minimum, this.#credit - 1);
    this.#retries += 1;
    return "taken";
  }

  release(): void {
    this.#retries -= 1;
  }
}

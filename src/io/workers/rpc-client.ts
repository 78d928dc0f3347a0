import type { Duplex } from "node:stream";
import { fault } from "../../contract/faults.ts";
import type { Clock } from "../../kit/clock.ts";
import { IpcChannel, type Parsed } from "./ipc-channel.ts";
import type { PrimaryNotification, RpcMethods } from "./rpc-protocol.ts";

type PendingCall = {
  readonly sinceMs: number;
  resolve(answer: Parsed): void;
  reject(error: Error): void;
  /** There was no answer in time. */
  onTimeout(): void;
};

/** Asked and not answered. Each is a request that waits, so more of them help nobody. */
const PENDING_MAX = 100_000;
/** A primary process that takes longer than this over a sum has stopped. Waiting for a lock may take longer. */
const CALL_TIMEOUT_MS = 5_000;
const CHECK_INTERVAL_MS = 1_000;

/** The primary process, as a worker sees it: questions out, answers back, and news in between. */
export class PrimaryRpcClient {
  readonly #channel: IpcChannel;
  readonly #clock: Clock;
  /** In the order they were asked. */
  readonly #pending = new Map<number, PendingCall>();
  readonly #listeners = new Set<(news: PrimaryNotification) => void>();
  #nextId = 1;
  #checkedAtMs: number;
  /** Since a question was given up nothing was heard of it. */
  #isUnresponsive = false;

  constructor(pipe: Duplex, clock: Clock) {
    this.#clock = clock;
    this.#checkedAtMs = clock.monotonicMs();
    this.#channel = new IpcChannel(pipe, (message) => this.#dispatch(message));
    setInterval(() => this.#expirePending(), CHECK_INTERVAL_MS).unref();
  }

  ask<Name extends keyof RpcMethods>(
    name: Name,
    ask: RpcMethods[Name]["ask"],
    patience: "short" | "endless" = "short",
  ): Promise<RpcMethods[Name]["answer"]> {
    if (this.#pending.size >= PENDING_MAX) return Promise.reject(primaryUnavailable());
    const number = this.#nextId++;
    const sinceMs = patience === "short" ? this.#clock.monotonicMs() : Number.POSITIVE_INFINITY;
    return new Promise((resolve, reject) => {
      this.#pending.set(number, { sinceMs, resolve, reject, onTimeout: () => reject(primaryUnavailable()) });
      this.#channel.send([number, name, ask]);
    });
  }

  /**
   * For what must be done in the end, whatever the primary does meanwhile. Resolves when it is done, or has to wait until
   * the primary goes on: what was said reaches it once and in order, or else this process has ended, and the primary does
   * its books from its journal.
   */
  async callEventually<Name extends keyof RpcMethods>(name: Name, ask: RpcMethods[Name]["ask"]): Promise<void> {
    const number = this.#nextId++;
    this.#channel.send([number, name, ask]);
    if (this.#isUnresponsive || this.#pending.size >= PENDING_MAX) return;
    await new Promise<void>((resolve, reject) => {
      this.#pending.set(number, { sinceMs: this.#clock.monotonicMs(), resolve, reject, onTimeout: resolve });
    });
  }

  onNotification(listener: (news: PrimaryNotification) => void): void {
    this.#listeners.add(listener);
  }

  sendMetrics(number: number, text: string): void {
    this.#channel.send([0, "measured", [number, text]]);
  }

  #dispatch([number, answer, problem]: Parsed): void {
    this.#isUnresponsive = false;
    if (number === 0) {
      for (const listener of this.#listeners) listener(answer);
      return;
    }
    const waiting = this.#pending.get(number);
    this.#pending.delete(number);
    if (problem === undefined) waiting?.resolve(answer);
    else waiting?.reject(new Error(problem));
  }

  #expirePending(): void {
    const nowMs = this.#clock.monotonicMs();
    const hasStoodStill = nowMs - this.#checkedAtMs > 2 * CHECK_INTERVAL_MS;
    this.#checkedAtMs = nowMs;
    // Then it was this process: what it has to say, and the answers that wait for it, go first.
    if (hasStoodStill) return;
    const untilMs = nowMs - CALL_TIMEOUT_MS;
    for (const [number, { sinceMs, onTimeout }] of this.#pending) {
      if (sinceMs > untilMs) continue;
      this.#pending.delete(number);
      this.#isUnresponsive = true;
      onTimeout();
    }
  }
}

function primaryUnavailable(): Error {
  return fault("service_unavailable", {
    message: "The gateway cannot count limits and money at the moment. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

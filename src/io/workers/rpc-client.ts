import type { Duplex } from "node:stream";
import { fault } from "../../contract/faults.ts";
import type { Clock } from "../../kit/clock.ts";
import { IpcChannel } from "./ipc-channel.ts";
import { isResultOf, parseResponseFrame } from "./rpc-frames.ts";
import type { PrimaryNotification, RpcMethod, RpcParams, RpcResult } from "./rpc-protocol.ts";

type PendingCall = {
  /** Infinite for a call without a timeout. */
  readonly sentAtMs: number;
  resolve(result: unknown): void;
  reject(error: Error): void;
  onTimeout(): void;
};

/** Each pending call is a waiting request: beyond this many, further ones are rejected at once. */
const PENDING_MAX = 100_000;
const CALL_TIMEOUT_MS = 5_000;
const CHECK_INTERVAL_MS = 1_000;

/** A worker's connection to the primary process: calls, their responses, and notifications. */
export class PrimaryRpcClient {
  readonly #channel: IpcChannel;
  readonly #clock: Clock;
  /** In the order of their calls. */
  readonly #pending = new Map<number, PendingCall>();
  readonly #listeners = new Set<(notification: PrimaryNotification) => void>();
  #nextId = 1;
  #checkedAtMs: number;
  /** True from a timeout until the next frame arrives. */
  #isUnresponsive = false;

  constructor(pipe: Duplex, clock: Clock) {
    this.#clock = clock;
    this.#checkedAtMs = clock.monotonicMs();
    this.#channel = new IpcChannel(pipe, (frame) => this.#onFrame(frame));
    setInterval(() => this.#expirePending(), CHECK_INTERVAL_MS).unref();
  }

  /** The primary answers in time, as far as this worker has asked it. */
  get isResponsive(): boolean {
    return !this.#isUnresponsive;
  }

  /** Rejects with `service_unavailable` when the primary does not respond in time. */
  call<Method extends RpcMethod>(method: Method, params: RpcParams<Method>): Promise<RpcResult<Method>> {
    return this.#call(method, params, this.#clock.monotonicMs());
  }

  /** Waits without a timeout: for calls that take effect however late, such as a lock. */
  callWithoutTimeout<Method extends RpcMethod>(method: Method, params: RpcParams<Method>): Promise<RpcResult<Method>> {
    return this.#call(method, params, Number.POSITIVE_INFINITY);
  }

  /**
   * For calls that must take effect in the end (settling, releasing). Resolves when the primary has executed the call,
   * or does not respond: the pipe delivers every call once and in order, and if this process exits before that, the
   * primary settles from its journal.
   */
  async callEventually<Method extends RpcMethod>(method: Method, params: RpcParams<Method>): Promise<void> {
    const id = this.#nextId++;
    this.#channel.send([id, method, params]);
    if (this.#isUnresponsive || this.#pending.size >= PENDING_MAX) return;
    await new Promise<void>((resolve, reject) => {
      const sentAtMs = this.#clock.monotonicMs();
      this.#pending.set(id, { sentAtMs, resolve: () => resolve(), reject, onTimeout: resolve });
    });
  }

  onNotification(listener: (notification: PrimaryNotification) => void): void {
    this.#listeners.add(listener);
  }

  sendMetrics(requestId: number, text: string): void {
    this.#channel.send([0, "metrics", [requestId, text]]);
  }

  #call<Method extends RpcMethod>(
    method: Method,
    params: RpcParams<Method>,
    sentAtMs: number,
  ): Promise<RpcResult<Method>> {
    if (this.#pending.size >= PENDING_MAX) return Promise.reject(primaryUnavailable());
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, {
        sentAtMs,
        resolve(result) {
          if (isResultOf(method, result)) resolve(result);
          else reject(new Error(`invalid result of ${method}`));
        },
        reject,
        onTimeout: () => reject(primaryUnavailable()),
      });
      this.#channel.send([id, method, params]);
    });
  }

  #onFrame(received: unknown): void {
    const frame = parseResponseFrame(received);
    if (frame === undefined) return;
    this.#isUnresponsive = false;
    if (frame.is === "notification") {
      for (const listener of this.#listeners) listener(frame.notification);
      return;
    }
    const call = this.#pending.get(frame.id);
    this.#pending.delete(frame.id);
    if (frame.is === "result") call?.resolve(frame.result);
    else call?.reject(new Error(frame.message));
  }

  #expirePending(): void {
    const nowMs = this.#clock.monotonicMs();
    const wasStalled = nowMs - this.#checkedAtMs > 2 * CHECK_INTERVAL_MS;
    this.#checkedAtMs = nowMs;
    // After an event-loop stall of this process, responses may be waiting in the pipe: they are read first.
    if (wasStalled) return;
    const expiredMs = nowMs - CALL_TIMEOUT_MS;
    for (const [id, { sentAtMs, onTimeout }] of this.#pending) {
      if (sentAtMs > expiredMs) continue;
      this.#pending.delete(id);
      this.#isUnresponsive = true;
      onTimeout();
    }
  }
}

function primaryUnavailable(): Error {
  return fault("service_unavailable", {
    message: "The gateway cannot check limits and balances at the moment. Try again shortly.",
    headers: { "retry-after": "1" },
  });
}

import { ErrorReply } from "@redis/client";
import { DeadlineQueue } from "../../../kit/deadline-queue.ts";
import { cancelTimer, type Timer } from "../../../kit/timers.ts";
import { AdaptiveTimeout } from "./adaptive-timeout.ts";
import type { LuaScript } from "./lua-script.ts";
import { openClient } from "./open-client.ts";
import type { ReconnectingClient, RedisClient } from "./reconnecting-client.ts";
import { CommandRejected, messageOf, OutcomeUnknown } from "./redis-errors.ts";
import type { RedisSettings } from "./redis-state.ts";

type RedisConnectionDeps = Pick<RedisSettings, "url" | "sentinels" | "ca" | "timeoutMs" | "clock" | "timers" | "log">;

const PROBE_EVERY_MS = 50;
/** A timer that fires later than planned by this share of the timeout proves an event-loop stall. */
const STALL_SHARE = 0.2;
/** A command times out after so many half timeouts without a stall, */
const HALVES = 2;
/** or after so many in all, because a process that stalls again and again must still answer. */
const HALVES_MAX = 6;

/**
 * Commands with a deadline, behind a circuit breaker: a command that times out opens the circuit, and every later one is
 * rejected at once until a probe of the breaker succeeds.
 */
export class RedisConnection {
  readonly #deps: RedisConnectionDeps;
  readonly #deadlines: DeadlineQueue;
  readonly #timeout: AdaptiveTimeout;
  readonly #listeners = new Set<(state: "available" | "unavailable") => void>();
  #connection: ReconnectingClient | undefined;
  #circuit: "closed" | "open" = "open";
  #isOpenByTimeout = false;
  #probeTimer: Timer | undefined;
  #isClosed = false;

  constructor(deps: RedisConnectionDeps) {
    this.#deps = deps;
    this.#deadlines = new DeadlineQueue(deps.clock, deps.timers);
    this.#timeout = new AdaptiveTimeout(deps.timeoutMs);
  }

  async open(): Promise<void> {
    this.#connection = await openClient(this.#deps, (state) =>
      state === "connected" ? this.#closeCircuit() : this.#openCircuit("disconnected"),
    );
    this.#closeCircuit();
  }

  get #client(): RedisClient | undefined {
    return this.#connection?.client;
  }

  get isAvailable(): boolean {
    return this.#circuit === "closed";
  }

  onChange(listener: (state: "available" | "unavailable") => void): void {
    this.#listeners.add(listener);
  }

  run(script: LuaScript, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    return this.#send(["EVALSHA", script.digest, ...rest], () => ["EVAL", script.source, ...rest]);
  }

  send(command: string[]): Promise<unknown> {
    return this.#send(command, undefined);
  }

  /** `uncached`: the same command for a Redis that does not have the script cached. */
  #send(command: string[], uncached: (() => string[]) | undefined): Promise<unknown> {
    const client = this.#client;
    if (this.#circuit === "open" || client === undefined)
      return Promise.reject(new CommandRejected("Redis is unavailable"));
    return new Promise((resolve, reject) => {
      let isOver = false;
      const timeOut = () => {
        if (isOver) return;
        isOver = true;
        this.#openCircuit("timeout");
        reject(new OutcomeUnknown("Redis did not respond in time"));
      };
      const { clock } = this.#deps;
      const sentAtMs = clock.monotonicMs();
      const timeoutMs = this.#timeout.at(sentAtMs);
      let deadline: Disposable;
      let [halves, halvesWithoutStall] = [0, 0];
      // Time in which this process stalled does not count: the command left late, and its reply may be unread.
      const waitHalf = () => {
        const untilMs = clock.monotonicMs() + timeoutMs / 2;
        deadline = this.#deadlines.at(untilMs, () => {
          halves += 1;
          if (clock.monotonicMs() - untilMs <= timeoutMs * STALL_SHARE) halvesWithoutStall += 1;
          if (halvesWithoutStall === HALVES || halves === HALVES_MAX) timeOut();
          else waitHalf();
        });
      };
      waitHalf();
      // The end of a connection is no slow reply.
      const end = (is: "reply" | "no reply", then: () => void) => {
        if (is === "reply") this.#timeout.noteReply(sentAtMs, clock.monotonicMs());
        if (isOver) return;
        isOver = true;
        deadline[Symbol.dispose]();
        then();
      };
      client.sendCommand(command).then(
        (reply: unknown) => end("reply", () => resolve(reply)),
        (error: unknown) =>
          end(error instanceof ErrorReply ? "reply" : "no reply", () => {
            const failure = failureOf(error);
            if (uncached !== undefined && failure instanceof CommandRejected && failure.message.startsWith("NOSCRIPT"))
              resolve(this.send(uncached()));
            else reject(failure);
          }),
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#circuit = "open";
    cancelTimer(this.#probeTimer);
    this.#connection?.close();
  }

  #openCircuit(reason: "disconnected" | "timeout"): void {
    if (this.#circuit === "closed") {
      this.#circuit = "open";
      this.#isOpenByTimeout = reason === "timeout";
      if (this.#isOpenByTimeout) this.#deps.log.warn({}, "redis: circuit opened, no reply in time");
      for (const listener of this.#listeners) listener("unavailable");
    }
    // After a disconnect, the client reports when it is connected again.
    if (reason === "timeout") this.#probe();
  }

  /** Repeats until a reply arrives: a single probe may be rejected. */
  #probe(): void {
    const client = this.#client;
    if (client === undefined || this.#isClosed || this.#probeTimer !== undefined) return;
    client.sendCommand(["PING"]).then(
      () => this.#closeCircuit(),
      () => undefined,
    );
    this.#probeTimer = this.#deps.timers.after(PROBE_EVERY_MS, () => {
      this.#probeTimer = undefined;
      if (this.#circuit === "open") this.#probe();
    });
  }

  #closeCircuit(): void {
    if (this.#circuit === "closed" || this.#isClosed || this.#client === undefined || !this.#client.isReady) return;
    this.#circuit = "closed";
    if (this.#isOpenByTimeout) this.#deps.log.info({}, "redis: circuit closed");
    this.#isOpenByTimeout = false;
    for (const listener of this.#listeners) listener("available");
  }
}

/** Only an error reply, or a command that never left, proves that Redis did not execute it. */
function failureOf(error: unknown): Error {
  if (error instanceof CommandRejected) return error;
  const message = messageOf(error);
  if (error instanceof ErrorReply) return new CommandRejected(message);
  const name = error instanceof Error ? error.constructor.name : "";
  const neverLeft = name === "ClientOfflineError" || name === "ClientClosedError" || message === "The queue is full";
  return neverLeft ? new CommandRejected(message) : new OutcomeUnknown(message);
}

import { ErrorReply } from "@redis/client";
import { DeadlineQueue } from "../../../kit/deadline-queue.ts";
import type { Timer } from "../../../kit/timers.ts";
import { cancelTimer } from "../../../kit/timers.ts";
import type { Script } from "./lua-script.ts";
import { type Client, type Line, openLine } from "./reconnecting-client.ts";
import { CommandRejected, messageOf, OutcomeUnknown } from "./redis-errors.ts";
import type { RedisSettings } from "./redis-state.ts";

type Wire = Pick<RedisSettings, "url" | "ca" | "timeoutMs" | "clock" | "timers" | "log">;

const PROBE_EVERY_MS = 50;
/** Whoever looks at a clock later than it meant to by this share of a step's time has stood still. */
const STOOD_STILL_SHARE = 0.2;
/** So many halves of its time a step has in which this process does not stand still, */
const HALVES = 2;
/** and so many at all: a process that stands still again and again has to say something too. */
const HALVES_MAX = 6;

/**
 * The way to Redis with a bound on every step. One that is not answered in time opens the breaker: whatever comes then
 * is refused at once, until Redis has answered a question of the breaker's own.
 */
export class Connection {
  readonly #wire: Wire;
  readonly #deadlines: DeadlineQueue;
  readonly #listeners = new Set<(is: "up" | "down") => void>();
  #line: Line | undefined;
  #is: "up" | "down" = "down";
  #wasLate = false;
  #probe: Timer | undefined;
  #isClosed = false;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#deadlines = new DeadlineQueue(wire.clock, wire.timers);
  }

  async open(): Promise<void> {
    this.#line = await openLine(this.#wire, (is) => (is === "up" ? this.#asked() : this.#trip("down")));
    this.#asked();
  }

  get #client(): Client | undefined {
    return this.#line?.client;
  }

  get isUp(): boolean {
    return this.#is === "up";
  }

  /** Called whenever it comes back or goes away. */
  onChange(listener: (is: "up" | "down") => void): void {
    this.#listeners.add(listener);
  }

  run(script: Script, keys: readonly string[], args: readonly string[]): Promise<unknown> {
    const rest = [String(keys.length), ...keys, ...args];
    return this.#send(["EVALSHA", script.digest, ...rest], () => ["EVAL", script.source, ...rest]);
  }

  send(command: string[]): Promise<unknown> {
    return this.#send(command, undefined);
  }

  /** `whole`: the same command for a Redis that does not know the script by its digest. */
  #send(command: string[], whole: (() => string[]) | undefined): Promise<unknown> {
    const client = this.#client;
    if (this.#is === "down" || client === undefined) return Promise.reject(new CommandRejected("Redis is away"));
    return new Promise((resolve, reject) => {
      let isOver = false;
      const late = () => {
        if (isOver) return;
        isOver = true;
        this.#trip("late");
        reject(new OutcomeUnknown("Redis did not answer in time"));
      };
      const { clock, timeoutMs } = this.#wire;
      let wait: Disposable;
      let [halves, goodHalves] = [0, 0];
      // A question leaves when this process is done with what it is at, and Redis may have stood still with it, where the
      // machine did: time in which this process did not run says nothing of Redis.
      const waitHalf = () => {
        const untilMs = clock.monotonicMs() + timeoutMs / 2;
        wait = this.#deadlines.at(untilMs, () => {
          halves += 1;
          if (clock.monotonicMs() - untilMs <= timeoutMs * STOOD_STILL_SHARE) goodHalves += 1;
          if (goodHalves === HALVES || halves === HALVES_MAX) late();
          else waitHalf();
        });
      };
      waitHalf();
      const end = (then: () => void) => {
        if (isOver) return;
        isOver = true;
        wait[Symbol.dispose]();
        then();
      };
      client.sendCommand(command).then(
        (reply: unknown) => end(() => resolve(reply)),
        (error: unknown) =>
          end(() => {
            const failure = failureOf(error);
            if (whole !== undefined && failure instanceof CommandRejected && failure.message.startsWith("NOSCRIPT"))
              resolve(this.send(whole()));
            else reject(failure);
          }),
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#is = "down";
    cancelTimer(this.#probe);
    this.#line?.close();
  }

  #trip(why: "down" | "late"): void {
    if (this.#is === "up") {
      this.#is = "down";
      this.#wasLate = why === "late";
      if (this.#wasLate) this.#wire.log.warn({}, "Redis does not answer in time: requests are refused until it does");
      for (const listener of this.#listeners) listener("down");
    }
    // Where the connection is gone, its return is heard of.
    if (why === "late") this.#ask();
  }

  /** Again and again until it answers: a question may be refused, or be answered before the next one is late. */
  #ask(): void {
    const client = this.#client;
    if (client === undefined || this.#isClosed || this.#probe !== undefined) return;
    client.sendCommand(["PING"]).then(
      () => this.#asked(),
      () => undefined,
    );
    this.#probe = this.#wire.timers.after(PROBE_EVERY_MS, () => {
      this.#probe = undefined;
      if (this.#is === "down") this.#ask();
    });
  }

  #asked(): void {
    if (this.#is === "up" || this.#isClosed || this.#client === undefined || !this.#client.isReady) return;
    this.#is = "up";
    if (this.#wasLate) this.#wire.log.info({}, "Redis answers again: requests are taken");
    this.#wasLate = false;
    for (const listener of this.#listeners) listener("up");
  }
}

/** Redis said no, or the command never left: otherwise nobody knows. */
function failureOf(error: unknown): Error {
  const message = messageOf(error);
  if (error instanceof ErrorReply) return new CommandRejected(message);
  const name = error instanceof Error ? error.constructor.name : "";
  const neverLeft = name === "ClientOfflineError" || name === "ClientClosedError" || message === "The queue is full";
  return neverLeft ? new CommandRejected(message) : new OutcomeUnknown(message);
}

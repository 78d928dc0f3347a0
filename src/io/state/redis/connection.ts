import { createClient, ErrorReply } from "@redis/client";
import { doubled } from "../../../kit/backoff.ts";
import { Deadlines } from "../../../kit/deadlines.ts";
import type { Timer } from "../../../kit/timers.ts";
import { stop } from "../../../kit/timers.ts";
import { isTurnedAway, isUntrusted, NotSent, Unanswered } from "./failures.ts";
import type { Script } from "./script.ts";
import type { RedisSettings } from "./shared-redis.ts";

export type Wire = Pick<RedisSettings, "url" | "ca" | "timeoutMs" | "clock" | "timers" | "log">;

/** Commands that may wait for their answers: far more than run at once, and far less than would fill the memory. */
const QUEUE_MAX = 20_000;
const FIRST_WITHIN_MS = 10_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 1000;
const PING_EVERY_MS = 1000;
/** A connection that says nothing for so long is made anew. */
const SILENT_MS = 4000;
const PROBE_EVERY_MS = 50;
/** Whoever looks at a clock so much later than it meant to has stood still. */
const STOOD_STILL_MS = 20;

/** A client that connects again for as long as it lives, and keeps nothing for the time when it is connected. */
function makeClient({ url, ca }: Pick<Wire, "url" | "ca">) {
  return createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    pingInterval: PING_EVERY_MS,
    disableClientInfo: true,
    maintNotifications: "disabled",
    // Every step has a time of its own here; the client's own would be a signal and a timer for each command.
    commandOptions: { timeout: 0 },
    socket: {
      ...(ca === undefined ? {} : { tls: true, ca }),
      connectTimeout: SILENT_MS,
      socketTimeout: SILENT_MS,
      reconnectStrategy: (retries: number) => doubled(retries, RECONNECT_FIRST_MS, RECONNECT_MAX_MS),
    },
  });
}

export type Client = ReturnType<typeof makeClient>;

/** Connects and keeps trying; gives up only where it never succeeded. */
export async function connectClient(
  wire: Pick<Wire, "url" | "ca" | "timers" | "log">,
  changed: (is: "up" | "down") => void,
) {
  const client = makeClient(wire);
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  let last: unknown;
  let isDown = false;
  let wasUp = false;
  client.on("error", (error: unknown) => {
    // A ping that found no room in the queue, say: no connection is lost, so none would be heard of again.
    if (client.isReady) return;
    last = error;
    // Before the first connection the caller says it, or it passes.
    if (!isDown && wasUp) wire.log.warn({ why: wordsOf(error) }, "the connection to Redis is lost: it is made again");
    isDown = true;
    // No waiting helps against a wrong password, or a certificate that nobody knows.
    if (!wasUp && (isTurnedAway(wordsOf(error)) || isUntrusted(wordsOf(error)))) reject(new Error(wordsOf(error)));
    changed("down");
  });
  client.on("reconnecting", () => changed("down"));
  client.on("ready", () => {
    if (isDown && wasUp) wire.log.info({}, "the connection to Redis is there again");
    isDown = false;
    wasUp = true;
    changed("up");
  });
  const timer = wire.timers.after(FIRST_WITHIN_MS, () =>
    reject(new Error(last === undefined ? "it does not answer" : wordsOf(last))),
  );
  const connected = client.connect();
  connected.catch(() => undefined);
  try {
    await Promise.race([connected, late]);
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    stop(timer);
  }
  return client;
}

/**
 * The way to Redis with a bound on every step. One that is not answered in time opens the breaker: whatever comes then
 * is refused at once, until Redis has answered a question of the breaker's own.
 */
export class Connection {
  readonly #wire: Wire;
  readonly #deadlines: Deadlines;
  readonly #listeners = new Set<(is: "up" | "down") => void>();
  #client: Client | undefined;
  #is: "up" | "down" = "down";
  #wasLate = false;
  #probe: Timer | undefined;
  #isClosed = false;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#deadlines = new Deadlines(wire.clock, wire.timers);
  }

  async open(): Promise<void> {
    this.#client = await connectClient(this.#wire, (is) => (is === "up" ? this.#asked() : this.#trip("down")));
    this.#asked();
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
    if (this.#is === "down" || client === undefined) return Promise.reject(new NotSent("Redis is away"));
    return new Promise((resolve, reject) => {
      let isOver = false;
      const late = () => {
        if (isOver) return;
        isOver = true;
        this.#trip("late");
        reject(new Unanswered("Redis did not answer in time"));
      };
      const { clock, timeoutMs } = this.#wire;
      let wait: Disposable;
      const afterHalf = (then: (stoodStill: boolean) => void) => {
        const untilMs = clock.elapsedMs() + timeoutMs / 2;
        wait = this.#deadlines.at(untilMs, () => then(clock.elapsedMs() - untilMs > STOOD_STILL_MS));
      };
      // Answers that are already here are read before anybody is called late.
      const lateNext = () => setImmediate(late);
      // A question leaves when this process is done with what it is at: one that was asked before a long piece of work
      // has left when its first half is over, however late that is noticed, and has the second for itself.
      afterHalf(() => afterHalf((stoodStill) => (stoodStill ? afterHalf(lateNext) : lateNext())));
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
            if (whole !== undefined && failure instanceof NotSent && failure.message.startsWith("NOSCRIPT"))
              resolve(this.send(whole()));
            else reject(failure);
          }),
      );
    });
  }

  close(): void {
    this.#isClosed = true;
    this.#is = "down";
    stop(this.#probe);
    this.#client?.destroy();
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

function wordsOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Redis said no, or the command never left: otherwise nobody knows. */
function failureOf(error: unknown): Error {
  const message = wordsOf(error);
  if (error instanceof ErrorReply) return new NotSent(message);
  const name = error instanceof Error ? error.constructor.name : "";
  const neverLeft = name === "ClientOfflineError" || name === "ClientClosedError" || message === "The queue is full";
  return neverLeft ? new NotSent(message) : new Unanswered(message);
}

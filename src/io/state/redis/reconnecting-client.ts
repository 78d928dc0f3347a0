import { createClient, ErrorReply } from "@redis/client";
import { exponentialBackoffMs } from "../../../kit/backoff.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { isAuthFailure, isCertificateFailure, messageOf } from "./redis-errors.ts";
import type { RedisSettings } from "./redis-state.ts";

/** Commands that may wait for their answers: far more than run at once, and far less than would fill the memory. */
const QUEUE_MAX = 20_000;
const FIRST_WITHIN_MS = 10_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 1000;
const CONNECT_MS = 4000;
const LOOK_EVERY_MS = 1000;
/** A connection on which nothing is heard between so many looks is made anew. */
const SILENT_LOOKS = 4;

/** A client that connects again for as long as it lives, and keeps nothing for the time when it is connected. */
function makeClient({ url, ca }: Pick<RedisSettings, "url" | "ca">) {
  return createClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    disableClientInfo: true,
    maintNotifications: "disabled",
    // Every step has a time of its own here; the client's own would be a signal and a timer for each command.
    commandOptions: { timeout: 0 },
    socket: {
      ...(ca === undefined ? {} : { tls: true, ca }),
      connectTimeout: CONNECT_MS,
      reconnectStrategy: (retries: number) => exponentialBackoffMs(retries, RECONNECT_FIRST_MS, RECONNECT_MAX_MS),
    },
  });
}

export type Client = ReturnType<typeof makeClient>;

/** One client that stays connected, whatever becomes of single connections. */
export type Line = { readonly client: Client; close(): void };

/** Connects and keeps trying; gives up only where it never succeeded. */
export async function openLine(
  wire: Pick<RedisSettings, "url" | "ca" | "timers" | "log">,
  changed: (is: "up" | "down") => void,
): Promise<Line> {
  const client = makeClient(wire);
  const { promise: late, reject } = Promise.withResolvers<never>();
  late.catch(() => undefined);
  let last: unknown;
  let isDown = false;
  let wasUp = false;
  const lost = (error: unknown) => {
    last = error;
    // Before the first connection the caller says it, or it passes.
    if (!isDown && wasUp) wire.log.warn({ why: messageOf(error) }, "the connection to Redis is lost: it is made again");
    isDown = true;
    // No waiting helps against a wrong password, or a certificate that nobody knows.
    if (!wasUp && (isAuthFailure(messageOf(error)) || isCertificateFailure(messageOf(error))))
      reject(new Error(messageOf(error)));
    changed("down");
  };
  client.on("error", (error: unknown) => {
    // Where the connection goes on, none would be heard of again.
    if (!client.isReady) lost(error);
  });
  client.on("reconnecting", () => changed("down"));
  client.on("ready", () => {
    if (isDown && wasUp) wire.log.info({}, "the connection to Redis is there again");
    isDown = false;
    wasUp = true;
    changed("up");
  });
  const timer = wire.timers.after(FIRST_WITHIN_MS, () =>
    reject(new Error(last === undefined ? "it does not answer" : messageOf(last))),
  );
  const connected = client.connect();
  connected.catch(() => undefined);
  try {
    await Promise.race([connected, late]);
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    cancelTimer(timer);
  }
  return { client, close: keepHearing(client, wire.timers, lost) };
}

/**
 * Leaves a connection on which nothing is heard any more, and makes another. Silence is counted in looks, one at a time: a
 * process that stood still for a minute looks once, and hears what came meanwhile before it looks again. What this returns
 * ends it all.
 */
function keepHearing(client: Client, timers: Timers, lost: (why: Error) => void): () => void {
  let isConnected = true;
  let isAsked = false;
  let looks = 0;
  const hear = () => {
    isAsked = false;
    looks = 0;
  };
  // Not ready yet, and silent already, it may be.
  client.on("connect", () => {
    isConnected = true;
    hear();
  });
  client.on("error", () => {
    if (!client.isReady) isConnected = false;
  });
  const ask = () => {
    isAsked = true;
    client.sendCommand(["PING"]).then(hear, (error: unknown) => {
      if (error instanceof ErrorReply) hear();
      else isAsked = false;
    });
  };
  const look = () => {
    lookAfter(LOOK_EVERY_MS);
    // The connection that was left has ended by now.
    if (!client.isOpen) void client.connect().catch(() => undefined);
    if (!isConnected) return;
    looks += 1;
    if (looks > SILENT_LOOKS) {
      isConnected = false;
      client.destroy();
      lost(new Error("nothing was heard on it any more"));
      lookAfter(RECONNECT_FIRST_MS);
    } else if (client.isReady && !isAsked) ask();
  };
  let timer: Timer | undefined;
  const lookAfter = (ms: number) => {
    cancelTimer(timer);
    timer = timers.after(ms, look);
  };
  lookAfter(LOOK_EVERY_MS);
  return () => {
    cancelTimer(timer);
    client.destroy();
  };
}

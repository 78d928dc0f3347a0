import { RedisClient as BareClient, ErrorReply } from "@redis/client";
import { exponentialBackoffMs } from "../../../kit/backoff.ts";
import { cancelTimer, type Timer, type Timers } from "../../../kit/timers.ts";
import { isAuthFailure, isCertificateFailure, messageOf } from "./redis-errors.ts";
import type { RedisSettings } from "./redis-state.ts";

/** Commands awaiting replies: far more than run at once, and far fewer than would fill the memory. */
const QUEUE_MAX = 20_000;
export const FIRST_CONNECT_MS_MAX = 10_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MAX_MS = 1000;
export const CONNECT_MS = 4000;
const CHECK_EVERY_MS = 1000;
/** A connection without any reply over so many checks is replaced. */
const SILENT_CHECKS_MAX = 4;

/**
 * Queues no command while it is disconnected. The class without its named commands: `createClient` builds those again for
 * every new address, which costs 30 ms.
 */
export function buildClient(
  { url, ca }: Pick<RedisSettings, "url" | "ca">,
  reconnects: false | ((retries: number) => number),
) {
  return new BareClient({
    url,
    disableOfflineQueue: true,
    commandsQueueMaxLength: QUEUE_MAX,
    disableClientInfo: true,
    maintNotifications: "disabled",
    // RedisConnection has its own deadlines; the client's would cost a signal and a timer for each command.
    commandOptions: { timeout: 0 },
    socket: {
      ...(ca === undefined ? {} : { tls: true, ca }),
      connectTimeout: CONNECT_MS,
      reconnectStrategy: reconnects,
    },
  });
}

type SocketClient = ReturnType<typeof buildClient>;

/** What is used of a client. */
export type RedisClient = {
  readonly isReady: boolean;
  sendCommand(command: readonly string[]): Promise<unknown>;
  /** Renewed when the client reconnects. */
  subscribe(channel: string, listener: (message: string) => void): Promise<void>;
};

/** One client over any number of consecutive connections. */
export type ReconnectingClient = { readonly client: RedisClient; close(): void };

export function reconnectDelayMs(retries: number): number {
  return exponentialBackoffMs(retries, RECONNECT_FIRST_MS, RECONNECT_MAX_MS);
}

/** Rejects only when the first connection fails for good; later failures are retried for ever. */
export async function openReconnectingClient(
  deps: Pick<RedisSettings, "url" | "ca" | "timers" | "log">,
  onChange: (state: "connected" | "disconnected") => void,
): Promise<ReconnectingClient> {
  const client = buildClient(deps, reconnectDelayMs);
  const { promise: failed, reject } = Promise.withResolvers<never>();
  failed.catch(() => undefined);
  let lastError: unknown;
  let isDisconnected = false;
  let hasConnected = false;
  const disconnected = (error: unknown) => {
    lastError = error;
    // A failure of the first connection is the caller's to report.
    if (!isDisconnected && hasConnected)
      deps.log.warn({ reason: messageOf(error) }, "redis: connection lost, reconnecting");
    isDisconnected = true;
    // Retrying does not help against a wrong password or an untrusted certificate.
    if (!hasConnected && (isAuthFailure(messageOf(error)) || isCertificateFailure(messageOf(error))))
      reject(new Error(messageOf(error)));
    onChange("disconnected");
  };
  client.on("error", (error: unknown) => {
    // The client also emits errors of single commands while the connection stays up.
    if (!client.isReady) disconnected(error);
  });
  client.on("reconnecting", () => onChange("disconnected"));
  client.on("ready", () => {
    if (isDisconnected && hasConnected) deps.log.info({}, "redis: connection restored");
    isDisconnected = false;
    hasConnected = true;
    onChange("connected");
  });
  const timer = deps.timers.after(FIRST_CONNECT_MS_MAX, () =>
    reject(new Error(lastError === undefined ? "it does not respond" : messageOf(lastError))),
  );
  const connected = client.connect();
  connected.catch(() => undefined);
  try {
    await Promise.race([connected, failed]);
  } catch (error) {
    client.destroy();
    throw error;
  } finally {
    cancelTimer(timer);
  }
  return { client, close: replaceSilentConnections(client, deps.timers, disconnected) };
}

/**
 * Replaces a connection that stays silent. Silence is counted in checks, not in time: after an event-loop stall one check
 * runs, and pending replies are read before the next. Returns how to close the client for good.
 */
function replaceSilentConnections(
  client: SocketClient,
  timers: Timers,
  disconnected: (reason: Error) => void,
): () => void {
  let isConnected = true;
  let isPinging = false;
  let silentChecks = 0;
  const replyReceived = () => {
    isPinging = false;
    silentChecks = 0;
  };
  // A connection can fall silent before it is ready.
  client.on("connect", () => {
    isConnected = true;
    replyReceived();
  });
  client.on("error", () => {
    if (!client.isReady) isConnected = false;
  });
  const ping = () => {
    isPinging = true;
    client.sendCommand(["PING"]).then(replyReceived, (error: unknown) => {
      if (error instanceof ErrorReply) replyReceived();
      else isPinging = false;
    });
  };
  const check = () => {
    scheduleCheck(CHECK_EVERY_MS);
    // The connection that was destroyed has ended by now.
    if (!client.isOpen) void client.connect().catch(() => undefined);
    if (!isConnected) return;
    silentChecks += 1;
    if (silentChecks > SILENT_CHECKS_MAX) {
      isConnected = false;
      client.destroy();
      disconnected(new Error("the connection does not respond"));
      scheduleCheck(RECONNECT_FIRST_MS);
    } else if (client.isReady && !isPinging) ping();
  };
  let timer: Timer | undefined;
  const scheduleCheck = (ms: number) => {
    cancelTimer(timer);
    timer = timers.after(ms, check);
  };
  scheduleCheck(CHECK_EVERY_MS);
  return () => {
    cancelTimer(timer);
    client.destroy();
  };
}

import { cancelTimer, type Timer } from "../../../kit/timers.ts";
import {
  buildClient,
  CONNECT_MS,
  FIRST_CONNECT_MS_MAX,
  type ReconnectingClient,
  type RedisClient,
  reconnectDelayMs,
} from "./reconnecting-client.ts";
import { CommandRejected, isAuthFailure, isCertificateFailure, messageOf, UnsupportedRedis } from "./redis-errors.ts";
import { listReply, textReply } from "./redis-replies.ts";
import { checkServer } from "./redis-server-check.ts";
import type { RedisSettings } from "./redis-state.ts";

type SentinelDeps = Pick<RedisSettings, "url" | "ca" | "timers" | "log"> & {
  /** Addresses as host:port. */
  readonly sentinels: readonly string[];
};

type SocketClient = ReturnType<typeof buildClient>;

const CHECK_EVERY_MS = 1000;
/** A connection without any reply over so many checks is replaced. */
const SILENT_CHECKS_MAX = 3;

/**
 * A client of the primary that the Sentinels name. The host of the URL is the name by which they know it; user, password,
 * database and TLS are those of the URL. Every connection begins with their answer, so a failover is followed when the old
 * primary disconnects, or stays silent. Nothing is sent twice: what was in flight has an unknown outcome.
 */
export async function openSentinelClient(
  deps: SentinelDeps,
  onChange: (state: "connected" | "disconnected") => void,
): Promise<ReconnectingClient> {
  const primary = new FollowedPrimary(deps, onChange);
  try {
    await primary.open();
  } catch (error) {
    primary.close();
    throw error;
  }
  return { client: primary, close: () => primary.close() };
}

class FollowedPrimary implements RedisClient {
  readonly #deps: SentinelDeps;
  readonly #onChange: (state: "connected" | "disconnected") => void;
  readonly #subscriptions = new Map<string, (message: string) => void>();
  #client: SocketClient | undefined;
  #isConnecting = false;
  /** Ends the attempt to connect that is under way. */
  #abandon: ((reason: string) => void) | undefined;
  #hasConnected = false;
  #isClosed = false;
  #failures = 0;
  #retryTimer: Timer | undefined;
  #checkTimer: Timer | undefined;
  #silentChecks = 0;

  constructor(deps: SentinelDeps, onChange: (state: "connected" | "disconnected") => void) {
    this.#deps = deps;
    this.#onChange = onChange;
  }

  /** Rejects when the first connection fails for good, or for too long. */
  async open(): Promise<void> {
    let isLate = false;
    let problem: unknown;
    const timer = this.#deps.timers.after(FIRST_CONNECT_MS_MAX, () => {
      isLate = true;
      this.#abandon?.("it does not respond");
    });
    while (this.#client === undefined && !isLate) {
      try {
        await this.#connect();
      } catch (error) {
        problem = error;
        const isFinal =
          error instanceof UnsupportedRedis || [isAuthFailure, isCertificateFailure].some((is) => is(messageOf(error)));
        if (isFinal || isLate) break;
        await this.#delay();
      }
    }
    cancelTimer(timer);
    if (this.#client === undefined) throw problem;
    this.#hasConnected = true;
    this.#scheduleCheck();
  }

  get isReady(): boolean {
    return this.#client?.isReady === true;
  }

  sendCommand(command: readonly string[]): Promise<unknown> {
    const client = this.#client;
    if (client === undefined) return Promise.reject(new CommandRejected("no primary is connected"));
    const reply = client.sendCommand([...command]);
    reply.then(
      () => {
        this.#silentChecks = 0;
      },
      (error: unknown) => {
        // A primary that was demoted.
        if (messageOf(error).startsWith("READONLY")) this.#leave(client, error);
      },
    );
    return reply;
  }

  async subscribe(channel: string, listener: (message: string) => void): Promise<void> {
    if (this.#client === undefined) throw new CommandRejected("no primary is connected");
    await this.#client.subscribe(channel, listener);
    this.#subscriptions.set(channel, listener);
  }

  close(): void {
    this.#isClosed = true;
    cancelTimer(this.#retryTimer);
    cancelTimer(this.#checkTimer);
    this.#abandon?.("the client was closed");
    this.#client?.destroy();
    this.#client = undefined;
  }

  async #connect(): Promise<void> {
    const url = new URL(this.#deps.url);
    const [host, port] = await this.#askSentinels(decodeURIComponent(url.hostname));
    url.host = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
    if (this.#isClosed) throw new Error("the client was closed");
    const client = buildClient({ url: url.href, ca: this.#deps.ca }, false);
    client.on("error", (error: unknown) => {
      if (!client.isReady) this.#leave(client, error);
    });
    await this.#prepare(client, url.host);
    if (this.#isClosed || !client.isReady) {
      if (client.isOpen) client.destroy();
      throw new Error("the primary disconnected");
    }
    this.#client = client;
    this.#silentChecks = 0;
    this.#failures = 0;
    if (this.#hasConnected) {
      this.#deps.log.info({}, "redis: connection restored");
      void this.#check(client);
    }
    this.#onChange("connected");
  }

  /** A stopped primary that the Sentinels still name accepts connections and stays silent, so all of it has a deadline. */
  async #prepare(client: SocketClient, address: string): Promise<void> {
    const { promise: abandoned, reject } = Promise.withResolvers<never>();
    const abandon = (reason: string) => {
      client.destroy();
      reject(new Error(reason));
    };
    const timer = this.#deps.timers.after(CONNECT_MS, () => abandon(`${address} does not respond`));
    const prepare = async () => {
      try {
        await client.connect();
        // The Sentinels may not agree yet on who is the primary.
        const [role] = listReply(await client.sendCommand(["ROLE"]));
        if (role !== "master") throw new Error(`${address} is not the primary yet`);
        for (const [channel, listener] of this.#subscriptions) await client.subscribe(channel, listener);
      } catch (error) {
        // Also when it was abandoned while its socket was not there yet.
        client.destroy();
        throw error;
      }
    };
    this.#abandon = abandon;
    try {
      await Promise.race([prepare(), abandoned]);
    } finally {
      cancelTimer(timer);
      this.#abandon = undefined;
    }
  }

  /** What the start would refuse is reported only: without this primary there would be none. */
  async #check(client: SocketClient): Promise<void> {
    try {
      await checkServer({ send: (command) => client.sendCommand(command) });
    } catch (error) {
      if (!(error instanceof UnsupportedRedis)) return;
      this.#deps.log.error({ reason: error.message, fix: error.fix }, "redis: new primary may lose wallets");
    }
  }

  /** The first answer; a Sentinel that does not know the primary counts like one that does not respond. */
  async #askSentinels(name: string): Promise<readonly [host: string, port: string]> {
    let problem: unknown = new Error("no Sentinel is named");
    for (const address of this.#deps.sentinels) {
      try {
        return await this.#askSentinel(address, name);
      } catch (error) {
        problem = error;
      }
    }
    throw problem;
  }

  async #askSentinel(address: string, name: string): Promise<readonly [host: string, port: string]> {
    const { url, ca, timers } = this.#deps;
    const { protocol, username, password } = new URL(url);
    const ask = async (credentials: string) => {
      const client = buildClient({ url: `${protocol}//${credentials}${address}`, ca }, false);
      client.on("error", () => undefined);
      // A Sentinel that accepts and stays silent must not keep the others from being asked.
      const timer = timers.after(CHECK_EVERY_MS, () => {
        if (client.isOpen) client.destroy();
      });
      try {
        await client.connect();
        return await client.sendCommand(["SENTINEL", "GET-MASTER-ADDR-BY-NAME", name]);
      } finally {
        cancelTimer(timer);
        if (client.isOpen) client.destroy();
      }
    };
    const reply = await ask("").catch((error: unknown) => {
      if (!isAuthFailure(messageOf(error))) throw error;
      return ask(`${username}:${password}@`);
    });
    if (reply === null)
      throw new UnsupportedRedis(
        `the Sentinel ${address} does not know ${name}`,
        "use the name that the Sentinels monitor as the host of REDIS_URL",
      );
    const [host, port] = listReply(reply).map(textReply);
    if (host === undefined || port === undefined) throw new Error(`the Sentinel ${address} names no address`);
    return [host, port];
  }

  /** Ends this connection and asks for the primary until there is one. */
  #leave(client: SocketClient, reason: unknown): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    if (client.isOpen) client.destroy();
    this.#deps.log.warn({ reason: messageOf(reason) }, "redis: connection lost, reconnecting");
    this.#onChange("disconnected");
    void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    if (this.#isConnecting) return;
    this.#isConnecting = true;
    while (this.#client === undefined && !this.#isClosed) {
      await this.#connect().catch(() => this.#delay());
    }
    this.#isConnecting = false;
  }

  #delay(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    this.#failures += 1;
    return new Promise((resolve) => {
      this.#retryTimer = this.#deps.timers.after(reconnectDelayMs(this.#failures), resolve);
    });
  }

  /** Silence is counted in checks, so that an event-loop stall counts once. */
  #scheduleCheck(): void {
    this.#checkTimer = this.#deps.timers.after(CHECK_EVERY_MS, () => {
      this.#scheduleCheck();
      const client = this.#client;
      if (client === undefined) return;
      this.#silentChecks += 1;
      if (this.#silentChecks > SILENT_CHECKS_MAX) this.#leave(client, new Error("the connection does not respond"));
      else this.sendCommand(["PING"]).catch(() => undefined);
    });
  }
}

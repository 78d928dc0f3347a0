import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { RedisClient } from "@redis/client";
import { openRedisState } from "../../src/io/state/redis/open-redis-state.ts";
import type { RedisSettings, RedisState, WalletSources } from "../../src/io/state/redis/redis-state.ts";
import { systemClock } from "../../src/kit/clock.ts";
import { createIdGenerator } from "../../src/kit/id-generator.ts";
import { systemTimers } from "../../src/kit/timers.ts";
import { unusedPort } from "./upstream.ts";

/** A canary: no output of a gateway may contain it. */
const REDIS_PASSWORD = "canary-of-redis-5d41402abc4b";
const READY_MS_MAX = 30_000;

/** REDIS_SERVER chooses one of them, by its name or path. */
const given = process.env["REDIS_SERVER"];
const program = (given === undefined ? ["redis-server", "valkey-server"] : [given]).find(
  (name) => spawnSync("/bin/sh", ["-c", 'command -v "$1"', "sh", name], { stdio: "ignore" }).status === 0,
);

if (given !== undefined && program === undefined) throw new Error(`REDIS_SERVER is ${given}, which is not installed`);

/** Tests on Redis are skipped where it is not installed; `npm test` reports it, and installs it as root. */
export const hasRedis = program !== undefined;

export type RedisServer = {
  readonly url: string;
  /** Over TLS: its certificate, which is its own authority. */
  readonly ca: string | undefined;
  /** One command, without the gateway. */
  ask(...command: string[]): Promise<unknown>;
  /** Stays connected and does not respond. */
  pause(): void;
  resume(): void;
  /** kill -9. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
};

/** A Redis on a free port of loopback. Its data is removed with it, unless it keeps an append-only file. */
export async function startRedis({
  keeps = "nothing",
  over = "tcp",
  more = {},
}: {
  keeps?: "nothing" | "all";
  over?: "tcp" | "tls";
  more?: Readonly<Record<string, string>>;
} = {}): Promise<RedisServer> {
  if (program === undefined) throw new Error("Redis is not installed");
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-redis-"));
  const port = await unusedPort();
  const tls = over === "tls" ? certificateIn(folder) : undefined;
  const url = `${over === "tls" ? "rediss" : "redis"}://:${REDIS_PASSWORD}@127.0.0.1:${port}/1`;
  const basics = {
    ...(tls === undefined ? { port } : { port: 0, "tls-port": port, ...tls.settings }),
    bind: "127.0.0.1",
    requirepass: REDIS_PASSWORD,
    dir: folder,
    save: "",
    loglevel: "warning",
  };
  const settings = { ...basics, appendonly: keeps === "all" ? "yes" : "no", appendfsync: "always", ...more };
  const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  let child: ChildProcess | undefined;
  const ask = async (...command: string[]) => {
    const trusting = tls === undefined ? {} : { tls: true as const, ca: tls.ca };
    const client = new RedisClient({ url, socket: { reconnectStrategy: false, ...trusting } });
    client.on("error", () => {});
    await client.connect();
    try {
      return await client.sendCommand(command);
    } finally {
      client.destroy();
    }
  };
  const start = async () => {
    ({ child, pid } = await spawnRedis(program, args));
    const deadline = performance.now() + READY_MS_MAX;
    for (;;) {
      try {
        await ask("PING");
        return;
      } catch (error) {
        if (performance.now() > deadline) throw error;
      }
      await sleep(10);
    }
  };
  let pid = 0;
  const kill = async () => {
    const running = child;
    if (running === undefined) return;
    child = undefined;
    const exited = once(running, "exit");
    process.kill(pid, "SIGKILL");
    running.stdin?.end();
    await exited;
  };
  await start();
  return {
    url,
    ca: tls?.ca,
    ask,
    pause: () => process.kill(pid, "SIGSTOP"),
    resume: () => process.kill(pid, "SIGCONT"),
    kill,
    start,
    async close() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** When the tests are killed, its input ends, and it exits. */
async function spawnRedis(command: string, args: readonly string[]) {
  const child: ChildProcess = spawn(
    "/bin/sh",
    ["-c", 'exec 3<&0; "$@" </dev/null >/dev/null 2>&1 & echo $!; read _ <&3; kill -9 $!', "sh", command, ...args],
    {
      stdio: ["pipe", "pipe", "ignore"],
    },
  );
  const [pidText] = await once(child.stdout ?? child, "data");
  return { child, pid: Number(String(pidText).trim()) };
}

export type SentinelSet = {
  /** Its host is the name that the Sentinel monitors. */
  readonly url: string;
  readonly sentinels: readonly string[];
  /** In the order of their start: the first begins as the primary. */
  readonly servers: readonly RedisServer[];
  close(): Promise<void>;
};

/** A primary, a replica and one Sentinel that replaces the primary soon after it stopped. */
export async function startSentinelSet({ downAfterMs = 500 } = {}): Promise<SentinelSet> {
  if (program === undefined) throw new Error("Redis is not installed");
  const auth = { masterauth: REDIS_PASSWORD, "repl-diskless-sync-delay": "0" };
  const primary = await startRedis({ more: auth });
  const { port } = new URL(primary.url);
  const replica = await startRedis({ more: { ...auth, replicaof: `127.0.0.1 ${port}` } });
  const folder = mkdtempSync(path.join(os.tmpdir(), "gateway-sentinel-"));
  const sentinelPort = await unusedPort();
  const lines = [
    `port ${sentinelPort}`,
    "bind 127.0.0.1",
    `dir ${folder}`,
    `sentinel monitor main 127.0.0.1 ${port} 1`,
    `sentinel auth-pass main ${REDIS_PASSWORD}`,
    `sentinel down-after-milliseconds main ${downAfterMs}`,
    "sentinel failover-timeout main 5000",
  ];
  const file = path.join(folder, "sentinel.conf");
  writeFileSync(file, lines.join("\n"));
  const isLinked = async () => String(await replica.ask("INFO", "replication")).includes("master_link_status:up");
  while (!(await isLinked())) await sleep(20);
  const sentinel = await spawnRedis(program, [file, "--sentinel"]);
  const client = new RedisClient({ url: `redis://127.0.0.1:${sentinelPort}`, RESP: 2 });
  client.on("error", () => {});
  await client.connect();
  const knowsReplica = async () => {
    const replicas = await client.sendCommand(["SENTINEL", "REPLICAS", "main"]).catch(() => []);
    return JSON.stringify(replicas).includes('"master-link-status","ok"');
  };
  while (!(await knowsReplica())) await sleep(20);
  client.destroy();
  return {
    url: `redis://:${REDIS_PASSWORD}@main/1`,
    sentinels: [`127.0.0.1:${await unusedPort()}`, `127.0.0.1:${sentinelPort}`],
    servers: [primary, replica],
    async close() {
      const exited = once(sentinel.child, "exit");
      process.kill(sentinel.pid, "SIGKILL");
      sentinel.child.stdin?.end();
      await exited;
      await Promise.all([primary.close(), replica.close()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function certificateIn(folder: string) {
  const [key, certificate] = [path.join(folder, "key.pem"), path.join(folder, "certificate.pem")];
  execFileSync(
    "openssl",
    `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=redis
     -addext subjectAltName=IP:127.0.0.1 -keyout ${key} -out ${certificate}`.split(/\s+/),
    { stdio: "ignore" },
  );
  const files = { "tls-cert-file": certificate, "tls-key-file": key, "tls-ca-cert-file": certificate };
  return { ca: readFileSync(certificate, "utf8"), settings: { ...files, "tls-auth-clients": "no" } };
}

const ids = createIdGenerator(Date.now);

const QUIET = { info: () => {}, warn: () => {}, error: () => {} };

/** One instance's part of a Redis. */
export function openTestRedisState(url: string, more: Partial<RedisSettings> = {}): Promise<RedisState> {
  return openRedisState({
    url,
    prefix: "test:",
    instanceId: ids.next("inst_"),
    // Other tests share the machine: the test proves that there is a bound.
    timeoutMs: 1000,
    holdMaxMs: 60_000,
    clock: systemClock,
    timers: systemTimers,
    newToken: () => ids.next(""),
    log: QUIET,
    ...more,
  });
}

/** An empty ledger. */
export function emptyWalletSources(more: Partial<WalletSources> = {}): WalletSources {
  return {
    instanceIds: async () => [],
    flushJournal: async () => {},
    balances: async () => [],
    dailySpends: async () => [],
    chargedKeyUses: async () => ({ uses: [], isComplete: true }),
    discoveryMs: 0,
    ...more,
  };
}
